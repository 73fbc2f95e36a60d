// The contexts of the past, one for each question, under a slider.

import { get } from "./api.js";
import { button, empty, failed, h, loading, number, passage, show, when, words } from "./dom.js";
import { panelAt, questionAt } from "./context.js";

export const title = "Replay";

export const view = async ({ where, at, go, stay, signal }) => {
  const { items } = await get("/messages", { ...where, limit: 1 }, signal);
  const last = items.at(-1)?.seq ?? 0;
  const newest = last && (await questionAt(where, last, signal));
  if (!newest) return empty("No context to replay yet", "Each question you ask has one.");
  const place = h("div", { class: "replayed" }, loading());
  const told = h("div", { class: "asked" });
  const slider = h("input", { id: "replay", type: "range", min: 1, max: newest.seq, step: 1, value: newest.seq });
  let latest = 0;
  let current = newest;
  let finding = null; // each step goes on from where the one before it leads

  const tell = (seq, ...more) => show(told, h("span", { class: "hint" }, `Message ${number(seq)} of ${number(last)}`, more));

  // Show the context of the question that `find` finds; where there is none, of the one it was.
  const to = async (find) => {
    latest += 1;
    const mine = latest;
    place.ariaBusy = "true";
    try {
      finding = Promise.resolve(finding).catch(() => {}).then(find);
      const entry = (await finding) ?? current;
      current = entry;
      if (mine !== latest) return;
      slider.value = entry.seq;
      slider.setAttribute("aria-valuetext", `question at message ${entry.seq} of ${last}`);
      stay(entry.seq);
      tell(entry.seq, " · ", when(entry.message.at));
      told.append(...[passage(words(entry.message.content))].flat());
      const built = await panelAt(where, entry.seq, go, signal);
      if (mine !== latest) return;
      show(place, built);
      place.dataset.seq = entry.seq;
    } catch (error) {
      if (mine === latest && !signal.aborted) show(place, failed(error));
    } finally {
      if (mine === latest) place.ariaBusy = null;
    }
  };

  const next = async (after) => {
    const found = await get("/messages", { ...where, after, limit: 100 }, signal);
    const entry = found.items.find(({ message }) => message.role === "user");
    return entry ?? (found.after ? next(found.after) : null);
  };
  const near = async (seq) => (await questionAt(where, seq, signal)) ?? next(0);
  const step = (forward) => to(() => (forward ? next(current.seq) : questionAt(where, current.seq - 1, signal)));
  slider.addEventListener("input", () => tell(slider.value));
  slider.addEventListener("change", () => to(() => near(Number(slider.value))));
  slider.addEventListener("keydown", (event) => {
    const forward = ["ArrowRight", "ArrowUp"].includes(event.key);
    if (!forward && !["ArrowLeft", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    step(forward);
  });

  const whole = h("section", { class: "replay", "aria-label": "Replay" },
    h("div", { class: "bar" }, h("label", { for: "replay" }, "Question"),
      button("‹", () => step(false), { class: "quiet", "aria-label": "Earlier question" }), slider,
      button("›", () => step(true), { class: "quiet", "aria-label": "Later question" })),
    told, place);
  to(() => (Number(at) ? near(Number(at)) : newest));
  return whole;
};
