// What is known of the user, what was known before, and the messages that say it.

import { all, call, get } from "./api.js";
import { dropNotes } from "./context.js";
import { button, dialog, empty, form, h, named, number, passage, percent, plural, show, status, sure, when } from "./dom.js";
import { jump } from "./message.js";

export const title = "Facts";

const TYPES = {
  user_profile: "Profile", interest: "Interests", preference: "Preferences", action_item: "To do", sentiment: "Tone",
};

const sources = (fact, where, go, close = () => {}) =>
  fact.sources.map((id, n) => button(n ? `Source ${n + 1}` : "Source", () => (close(), jump(where, id, fact.sessions[n], go)),
    { class: "link" }));

const NOTED = { note: "noted by a model", import: "noted by another memory" };

const span = (fact) => [
  fact.valid_from && ["from ", when(fact.valid_from)], fact.valid_to && [" until ", when(fact.valid_to)],
  NOTED[fact.origin] && [" · ", NOTED[fact.origin]],
];

const history = async (fact, where, go) => {
  const { items } = await get("/facts/history", { user: where.user, key: fact.key });
  await dialog(fact.label, (close) => [
    h("p", { class: "hint" }, items.length ? plural(items.length, "value") : "Nothing is known of this any more.",
      items.length > 1 && ", the newest last"),
    h("ol", { class: "history" }, items.map((found) =>
      h("li", {}, h("p", { class: "value", dir: "auto" }, found.value),
        h("div", { class: "line-foot" }, h("span", {}, when(found.at), " ", span(found)), sources(found, where, go, close))))),
    h("div", { class: "actions" }, button("Close", () => close())),
  ]);
};

const forget = async (fact, where, again) => {
  const hint = "Every value it has had, and what is known of a person with it. The messages that say it stay.";
  if (!(await sure("Forget this fact for good?", `${fact.label}: ${fact.value}`, hint, "Forget"))) return;
  await call("DELETE", "/facts", { query: { user: where.user, key: fact.key } })
    .then(() => (dropNotes(), status(`${named(fact.label)} is forgotten.`)), status);
  await again();
};

const card = (fact, where, go, again) =>
  h("li", { class: "card" },
    h("h3", { dir: "auto" }, fact.label), passage(fact.value, { class: "value" }),
    h("div", { class: "line-foot" }, h("span", {}, percent(fact.confidence), " sure · ", when(fact.updated_at), " ", span(fact))),
    h("div", { class: "line-foot" },
      button("History", () => history(fact, where, go).catch((error) => status(error)), { class: "link" }),
      sources(fact, where, go),
      button("Forget…", () => forget(fact, where, again), { class: "link danger", "aria-label": `Forget… ${fact.label}` })));

export const view = async ({ where, go, signal }) => {
  let items = await all("/facts", { user: where.user }, signal);
  if (!items.length) return empty("Nothing known yet", "Facts are found by rules in what the user says of themselves.");
  const place = h("div");
  const field = h("input", { id: "find-fact", type: "search", placeholder: "Find a fact", oninput: () => draw() });
  const draw = () => {
    const asked = field.value.trim().toLowerCase();
    const found = items.filter((fact) => `${fact.label}\n${fact.value}`.toLowerCase().includes(asked));
    const groups = Object.groupBy(found, (fact) => fact.type);
    show(place, found.length ? Object.entries(TYPES).map(([type, name]) => groups[type] && [
      h("h2", {}, name, " ", h("span", { class: "num" }, number(groups[type].length))),
      h("ul", { class: "cards grid" }, groups[type].map((fact) => card(fact, where, go, again))),
    ]) : empty(items.length ? "No fact has these words" : "Nothing is known any more"));
  };
  const again = async () => {
    await all("/facts", { user: where.user }, signal).then((found) => (items = found), (error) => signal.aborted || status(error));
    draw();
    field.focus();
  };
  draw();
  return h("section", { "aria-label": "Facts" },
    form(draw, h("label", { for: "find-fact", class: "hidden" }, "Find a fact"), field), place);
};
