// How the user talks with the assistant, counted over everything said.

import { get } from "./api.js";
import { button, empty, h, number, passage, plural } from "./dom.js";
import { jump } from "./message.js";
import { barsOf } from "./plot.js";

export const title = "Patterns";

const figure = (label, value) => h("div", { class: "figure" }, h("b", {}, value), h("span", {}, label));

const counted = (count, one) => figure(count === 1 ? one : `${one}s`, number(count));

const mentions = (name, needed, found, where, go) => [
  h("h2", {}, name),
  found.length
    ? h("ul", { class: "cards grid" }, found.map((item) => h("li", { class: "card" },
      passage(item.text),
      h("div", { class: "line-foot" }, h("span", {}, plural(item.conversations, "conversation")),
        button("First said", () => jump(where, item.source, item.session, go), { class: "link" })))))
    : h("p", { class: "hint" }, `Nothing yet: it takes ${needed} in 3 conversations.`),
];

export const view = async ({ where, go, signal }) => {
  const found = await get("/patterns", where, signal);
  if (!found.turns) return empty("No habits seen yet", "They are counted in the background as conversations go on.");
  const hour = (n) => `${String(n).padStart(2, "0")}:00`;
  return h("section", { "aria-label": "Patterns" },
    h("div", { class: "figures" },
      counted(found.conversations, "conversation"), counted(found.turns, "turn"),
      figure("turns each", number(found.turns_per_conversation, 1)), figure("tokens an answer", number(found.answer_tokens)),
      found.length && figure("answers liked", found.length), found.depth && figure("depth", found.depth),
      found.rhythm && figure("rhythm", found.rhythm)),
    h("h2", {}, "Hours of the day"),
    h("p", { class: "hint" }, "On how many days something was said at that hour, by the clock of the messages' own time zone."),
    barsOf(found.hours, `Active hours of the day; most at ${hour(found.hours.indexOf(Math.max(...found.hours)))}`, hour),
    mentions("Asked again and again", "the same question", found.questions, where, go),
    mentions("Topics", "the same word", found.topics, where, go),
    found.worked.length > 0 && [h("h2", {}, "What scored well"), h("ul", { class: "cards" }, found.worked.map((item) =>
      h("li", { class: "card" }, h("p", {}, item.trait), h("div", { class: "line-foot" },
        `${number(item.score, 2)} over ${plural(item.answers, "answer")}, others ${number(item.others, 2)} over ${item.other_answers}`))))]);
};
