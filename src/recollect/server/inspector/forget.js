// Forget for good, after a look at how much that is.

import { get, post } from "./api.js";
import { stopAll } from "./chat.js";
import { dropNotes } from "./context.js";
import { button, failed, form, h, loading, named, number, plural, show, status, sure, words } from "./dom.js";

export const title = "Forget";

const KINDS = { messages: "messages", records: "things learned", items: "index entries", jobs: "jobs that wait" };

const figures = (erased) => h("div", { class: "figures" }, Object.entries(KINDS).map(([name, label]) =>
  h("div", { class: "figure" }, h("b", {}, number(erased[name])), h("span", {}, label))));

export const view = async ({ where, at, signal, called, sessions }) => {
  const entry = at && (await get("/message", { ...where, id: at }, signal).catch(() => null));
  const choices = [
    entry && ["message", `This message: “${named(words(entry.message.content).slice(0, 120))}”`, where, { ids: [at] }],
    ["session", `This conversation: ${called(where.session)}`, where, {}],
    ["user", `Everything of ${named(where.user)}`, { user: where.user }, {}],
  ].filter(Boolean);
  const place = h("div", { "aria-live": "polite" });

  const erase = async (label, query, body) => {
    const hint = "Text, index and all that was learned from it. There is no way back.";
    if (!(await sure("Forget for good?", label, hint, "Forget"))) return;
    status("Forgetting…");
    try {
      const erased = await post("/forget", query, body);
      dropNotes();
      const done = h("h2", { tabindex: -1 }, "Forgotten");
      show(place, done, figures(erased));
      done.focus();
      status(`${plural(erased.messages, "message")} forgotten.`);
      await sessions();
    } catch (error) {
      status("");
      show(place, failed(error));
    }
  };
  const preview = async (event) => {
    const chosen = new FormData(event.target).get("what");
    const [, label, query, body] = choices.find(([name]) => name === chosen);
    stopAll();
    show(place, loading());
    try {
      const would = await post("/forget/preview", query, body);
      show(place, h("h2", {}, "This would be erased"), figures(would),
        button("Forget for good…", () => erase(label, query, body), { class: "danger", disabled: !would.messages && !would.records }));
    } catch (error) {
      show(place, failed(error));
    }
  };
  const radios = choices.map(([name, label], n) => h("label", { class: "choice" },
    h("input", { type: "radio", name: "what", value: name, checked: n === 0 }), h("span", { dir: "auto" }, label)));
  return h("section", { class: "forget", "aria-label": "Forget" },
    form(preview, h("fieldset", { onchange: () => show(place) }, h("legend", {}, "What to forget"), radios), h("button", {}, "Preview")), place);
};
