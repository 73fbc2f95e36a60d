// The user's documents: listed, searched, added, removed.

import { all, call, post } from "./api.js";
import { button, empty, failed, form, h, named, passage, plural, show, status, sure, when } from "./dom.js";

export const title = "Documents";

const remove = async (name, where, again) => {
  if (!(await sure("Remove this document?", name, "It and all of its passages are erased for good.", "Remove"))) return;
  await call("DELETE", "/documents", { query: { ...where, name } }).then(() => status(`${named(name)} is removed.`), status);
  again();
};

const hit = (found) => h("li", { class: "card" },
  h("h3", { dir: "auto" }, [found.document, ...found.headings].map(named).join(" › ")), passage(found.text, { class: "card-text" }),
  h("div", { class: "line-foot" }, `score ${found.score.toFixed(2)}`));

export const view = async ({ where, signal }) => {
  const list = h("div");
  const found = h("div");
  const field = h("input", { id: "in-documents", type: "search", required: true, placeholder: "Find a passage" });
  const file = h("input", { id: "file", type: "file", accept: ".md,.txt,.html,.htm,.pdf", required: true });

  const draw = async () => {
    const items = await all("/documents", where, signal);
    show(list, items.length
      ? [h("h2", {}, plural(items.length, "document")),
        h("ul", { class: "cards list" }, items.map((item) => h("li", { class: "card" }, h("h3", { dir: "auto" }, item.name),
          h("div", { class: "line-foot" },
            h("span", {}, plural(item.chunks, "passage"), ` · ${plural(item.tokens, "token")} · `, when(item.at)),
            button("Remove…", () => remove(item.name, where, again), { class: "link danger", "aria-label": `Remove… ${item.name}` })))))]
      : empty("No documents yet", "Add Markdown, text, HTML or PDF: passages near a question are quoted with their origin."));
  };
  const again = async () => {
    await draw().catch((error) => signal.aborted || status(error));
    field.focus();
  };
  const search = async () => {
    found.ariaBusy = "true";
    try {
      const { items } = await post("/documents/search", where, { question: field.value });
      status(`${plural(items.length, "passage")} found`, true);
      show(found, items.length ? [h("h2", {}, plural(items.length, "passage")), h("ul", { class: "cards" }, items.map(hit))]
        : empty("No passage is near enough"));
    } catch (error) {
      show(found, failed(error));
    } finally {
      found.ariaBusy = null;
    }
  };
  const add = async ({ submitter }) => {
    const [chosen] = file.files;
    status(`Reading ${named(chosen.name)}…`);
    submitter.disabled = true;
    await call("PUT", "/documents", { query: { ...where, name: chosen.name }, file: chosen })
      .then(() => status(`${named(chosen.name)} is kept.`), status);
    submitter.disabled = false;
    file.value = "";
    await again();
  };
  await draw();
  return h("section", { "aria-label": "Documents" },
    form(search, h("label", { for: "in-documents", class: "hidden" }, "Find a passage"), field, h("button", { class: "quiet" }, "Find")),
    form(add, h("label", { for: "file" }, "Add a file"), file, h("button", {}, "Add")),
    found, list);
};
