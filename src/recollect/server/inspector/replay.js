// The contexts of the past, one for each question, under a slider.

import { get } from "./api.js";
import { button, empty, failed, h, number, show, when, words } from "./dom.js";
import { panelAt, questionAt } from "./context.js";

export const title = "Replay";

export const view = async ({ where, at, go, signal }) => {
  const { items } = await get("/messages", { ...where, limit: 1 }, signal);
  const last = items.at(-1)?.seq ?? 0;
  const newest = last && (await questionAt(where, last, signal));
  if (!newest) return empty("No context to replay yet", "Each question you ask has one.");
  const place = h("div", { class: "replayed" });
  const told = h("p", { class: "asked", dir: "auto" });
  const slider = h("input", { id: "replay", type: "range", min: 1, max: newest.seq, step: 1, value: newest.seq });
  let turn = 0;
  let current = newest;

  const to = async (entry) => {
    turn += 1;
    const mine = turn;
    if (!entry) return;
    current = entry;
    slider.value = entry.seq;
    slider.setAttribute("aria-valuetext", `question at message ${entry.seq} of ${last}`);
    show(told, h("span", { class: "hint" }, `Message ${number(entry.seq)} of ${number(last)} · `, when(entry.message.at)), " ",
      words(entry.message.content).slice(0, 500));
    try {
      const built = await panelAt(where, entry.seq, go, signal);
      if (mine === turn) show(place, built);
      place.dataset.seq = entry.seq;
    } catch (error) {
      if (mine === turn && !signal.aborted) show(place, failed(error));
    }
  };

  const next = async (after) => {
    const found = await get("/messages", { ...where, after, limit: 100 }, signal);
    const entry = found.items.find(({ message }) => message.role === "user");
    return entry ?? (found.later && found.items.length ? next(found.items.at(-1).seq) : null);
  };
  const step = async (forward) => to(forward ? await next(current.seq) : await questionAt(where, current.seq - 1, signal));
  const slid = async () => to((await questionAt(where, Number(slider.value), signal)) ?? (await next(0)));
  slider.addEventListener("change", slid);
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
  const wanted = at && (await questionAt(where, Number(at), signal));
  await to(wanted || newest);
  return whole;
};
