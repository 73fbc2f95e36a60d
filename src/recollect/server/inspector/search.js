// The turns that match a question, best first.

import { post } from "./api.js";
import { button, empty, failed, form, h, percent, show, when } from "./dom.js";
import { jump } from "./message.js";

export const title = "Search";

export const view = async ({ where, go }) => {
  const field = h("input", { id: "question", type: "search", required: true, placeholder: "What was said about…" });
  const scope = h("select", { id: "scope" },
    h("option", { value: "user" }, "All conversations"), h("option", { value: "session" }, "This conversation"));
  const place = h("div", { "aria-live": "polite" },
    empty("Search what was said", "By meaning and by words, over everything this user ever said."));

  const hit = (found) => h("li", { class: "card" },
    h("p", { class: "card-text", dir: "auto" }, found.text),
    h("div", { class: "line-foot" }, found.session, " · ", when(found.at), ` · score ${found.score.toFixed(2)}`,
      button("Show message", () => jump(where, found.message_ids[0], found.session, go), { class: "link" })));

  const search = async () => {
    try {
      const { items, relevance } = await post("/search", where, { question: field.value, scope: scope.value, k: 20 });
      if (!items.length) return show(place, empty("Nothing found", "Try other words, or all conversations."));
      return show(place, h("p", { class: "hint" }, `${items.length} found, the best is ${percent(relevance)} relevant`),
        h("ul", { class: "cards" }, items.map(hit)));
    } catch (error) {
      return show(place, failed(error));
    }
  };
  return h("section", { "aria-label": "Search" },
    form(search, h("label", { for: "question", class: "hidden" }, "Question"), field,
      h("label", { for: "scope", class: "hidden" }, "Where"), scope, h("button", {}, "Search")), place);
};
