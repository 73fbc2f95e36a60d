// The turns that match a question, best first.

import { post } from "./api.js";
import { button, empty, failed, form, h, passage, plural, show, status, when } from "./dom.js";
import { jump } from "./message.js";

export const title = "Search";

let scope = "user";

export const view = async ({ where, at, go, stay, signal, called }) => {
  const field = h("input", { id: "question", type: "search", required: true, value: at ?? "", placeholder: "What was said about…" });
  const among = h("select", { id: "scope", onchange: () => ((scope = among.value), field.value && search()) },
    h("option", { value: "user" }, "All conversations"), h("option", { value: "session" }, "This conversation"));
  among.value = scope;
  let latest = 0;
  const place = h("div", {}, empty("Search what was said", "By meaning and by words, over everything this user ever said."));

  const hit = (found, place) => h("li", { class: "card" }, passage(found.text, { class: "card-text" }),
    h("div", { class: "line-foot" }, h("span", {}, `${place + 1}. `, called(found.session), " · ", when(found.at)),
      button("Show message", () => jump(where, found.message_ids[0], found.session, go), { class: "link" })));

  const search = async () => {
    latest += 1;
    const mine = latest;
    stay(field.value);
    place.ariaBusy = "true";
    try {
      const { items } = await post("/search", where, { question: field.value, scope, k: 20 });
      if (signal.aborted || mine !== latest) return;
      status(`${items.length} found`, true);
      if (!items.length) return show(place, empty("Nothing found", "Try other words, or all conversations."));
      show(place, h("p", { class: "hint" }, `${plural(items.length, "moment")}, nearest first`),
        h("ul", { class: "cards" }, items.map(hit)));
    } catch (error) {
      if (!signal.aborted && mine === latest) show(place, failed(error));
    } finally {
      if (mine === latest) place.ariaBusy = null;
    }
  };
  if (at) await search();
  return h("section", { "aria-label": "Search" },
    form(search, h("label", { for: "question", class: "hidden" }, "Question"), field,
      h("label", { for: "scope", class: "hidden" }, "Where"), among, h("button", {}, "Search")), place);
};
