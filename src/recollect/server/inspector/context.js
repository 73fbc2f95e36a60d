// A context beside its conversation: where the tokens go, why each thing is in or out, what changed, what is cached.

import { get, post } from "./api.js";
import { button, h, named, number, passage, percent, plural, when, words } from "./dom.js";
import { jump } from "./message.js";

const NAMES = {
  overhead: "Overhead", system: "System", summary: "Summary", profile: "About the user", facts: "Facts", hints: "Habits",
  episodic: "Recalled", tools: "Tools", documents: "Documents", working: "Conversation", question: "Question", free: "Free",
};
const SAID = ["system", "working", "question"];

const name = (section) => NAMES[section] ?? section;
const idOf = (line) => `${SAID.includes(line.section) ? "" : line.section}\n${line.text}`; // a question becomes conversation
const kept = (context) => context.receipt.lines.filter((line) => line.kept);

// What a context has that the one before had not, and how much of its start is the same.
const compare = (context, before) => {
  const theirs = new Set(kept(before).map(idOf));
  const mine = new Set(kept(context).map(idOf));
  const old = before.messages.map((message) => JSON.stringify(message));
  const changed = context.messages.findIndex((message, n) => JSON.stringify(message) !== old[n]);
  const same = changed < 0 ? context.messages.length : changed;
  return {
    added: kept(context).filter((line) => !theirs.has(idOf(line))),
    removed: kept(before).filter((line) => !mine.has(idOf(line))),
    same, tokens: tokensOf(context, same),
  };
};

// The tokens of the first messages of a prompt: by the receipt's lines of the conversation, which are in its order.
const tokensOf = (context, count) => {
  const lines = kept(context).filter((line) => SAID.includes(line.section));
  const rest = context.receipt.tokens - lines.reduce((sum, line) => sum + line.shown, 0);
  let sum = 0;
  let at = 0;
  let memory = false;
  for (const message of context.messages.slice(0, count)) {
    const own = lines[at];
    if (own && plain(message).includes(own.text)) {
      sum += own.shown;
      at += 1;
      memory ||= plain(message) !== own.text;
    } else memory = true;
  }
  return Math.min(context.receipt.tokens, sum + (memory ? rest : 0));
};

const plain = (message) => (message.content == null ? "" : words(message.content));

// A part of a bar.
const part = (given, share) => {
  const found = h("i", given);
  found.style.width = `${100 * share}%`;
  return found;
};

// The sections in the order of the prompt: memory stands in front of the question, or of the whole conversation.
const ordered = ({ receipt, messages }) => {
  const sections = Object.entries(receipt.sections).filter(([section, tokens]) => tokens > 0 && section !== "free");
  const asked = messages.findLast((message) => message.role === "user");
  const late = asked && plain(asked).startsWith("<memory>") && asked !== messages.find(({ role }) => role === "user");
  const order = late ? ["system", "working", "", "question", "overhead"] : ["system", "", "working", "question", "overhead"];
  const rank = ([section]) => (order.includes(section) ? order.indexOf(section) : order.indexOf(""));
  return sections.sort((one, other) => rank(one) - rank(other));
};

// How full the budget is, and what it is full of.
const budget = (context, cached) => {
  const { receipt } = context;
  const sections = ordered(context);
  const free = receipt.budget - receipt.tokens;
  const told = [...sections, ["free", free]].map(([section, tokens]) => `${name(section)} ${number(tokens)}`).join(", ");
  const bar = h("div", { class: "budget", role: "img", "aria-label": `Budget of ${number(receipt.budget)} tokens: ${told}` },
    sections.map(([section, tokens], n) => {
      const piece = h("span", { class: `s-${section}`, title: `${name(section)}: ${plural(tokens, "token")}` }, h("b", {}, n + 1));
      piece.style.flexGrow = tokens;
      return piece;
    }), cached > 0 && part({ class: "cached-part" }, cached / receipt.tokens));
  const legend = h("ul", { class: "legend", "aria-label": "Tokens by section" }, sections.map(([section, tokens], n) =>
    h("li", {}, h("span", { class: `dot s-${section}`, "aria-hidden": "true" }, n + 1), name(section), " ",
      h("b", {}, number(tokens)))));
  return [
    h("p", { class: "big" }, h("b", {}, number(receipt.tokens)), ` of ${plural(receipt.budget, "token")}, ${number(free)} free`,
      cached != null && h("span", { class: "cached-note" }, `${percent(cached / receipt.tokens)} cached prefix`)),
    h("div", { class: "gauge" }, part({}, receipt.tokens / receipt.budget)), bar, legend,
  ];
};

const line = (found, fresh, where, go) =>
  h("li", { class: found.kept ? "line" : "line out" },
    h("div", { class: "line-head" },
      h("span", { class: `tag s-${found.section}` }, name(found.section)),
      h("span", { class: "verdict" }, `${found.kept ? "in" : "out"}: ${found.rule}`,
        !SAID.includes(found.section) && `, score ${found.score.toFixed(2)}`),
      fresh && h("span", { class: "fresh" }, "new"),
      h("span", { class: "num" }, found.kept && found.shown < found.tokens && `${number(found.shown)} of `,
        plural(found.tokens, "token"))),
    passage(found.text, { class: "line-text" }),
    h("div", { class: "line-foot" },
      found.origin && h("span", {}, named(found.origin), found.at && [" · ", when(found.at)]),
      found.sources.length > 0 && found.section !== "documents" &&
        button("Show message", () => jump(where, found.sources[0], found.sessions[0] ?? where.session, go), { class: "link" })));

const diff = (found) => {
  const rows = [...found.added.map((item) => ["+", item]), ...found.removed.map((item) => ["−", item])];
  if (!rows.length) return h("p", { class: "hint" }, "The same as in the turn before.");
  return h("ul", { class: "diff" }, rows.map(([sign, item]) =>
    h("li", { class: sign === "+" ? "added" : "removed" },
      h("span", { class: "sign", "aria-label": sign === "+" ? "added" : "removed" }, sign),
      h("div", {}, h("b", {}, name(item.section)), passage(item.text)))));
};

const prompt = (context, same) =>
  h("ol", { class: "prompt" }, context.messages.map((message, n) =>
    h("li", { class: n < same ? "cached" : "" },
      h("div", { class: "line-head" }, h("span", { class: "tag" }, message.role),
        n < same && h("span", { class: "verdict" }, "cached prefix")),
      h("pre", { dir: "auto", tabindex: 0 }, plain(message) || JSON.stringify(message.tool_calls ?? "", null, 1)))));

const fold = (title, open, ...inside) => h("details", { open }, h("summary", {}, title), inside);

// All there is to say about a context; `before` is that of the turn before, or null; `sent` says that it is the very one.
const panel = (context, before, sent, where, go) => {
  const change = before && compare(context, before);
  const lines = context.receipt.lines;
  const inside = lines.filter((found) => found.kept && !SAID.includes(found.section));
  const outside = lines.filter((found) => !found.kept);
  const said = lines.filter((found) => found.kept && SAID.includes(found.section));
  const list = (found) => h("ul", { class: "lines" },
    found.map((item) => line(item, change?.added.includes(item), where, go)));
  const title = sent ? "Context as it was sent" : "Context of this question";
  return h("section", { class: "context", "aria-label": title }, h("h2", {}, title),
    !sent && h("p", { class: "hint" }, "Built again from what was kept until this question, for a budget of ",
      `${plural(context.receipt.budget, "token")}. Which one it was sent with is not kept.`), budget(context, change?.tokens),
    fold(`From memory: ${inside.length} in`, true,
      inside.length ? list(inside) : h("p", { class: "hint" }, "Nothing from memory was needed or found.")),
    outside.length > 0 && fold(`Left out: ${outside.length}`, false, list(outside)),
    fold(`Conversation: ${said.length} in`, false, list(said)),
    change && fold(`Since the turn before: ${change.added.length} new, ${change.removed.length} gone`, true, diff(change)),
    fold(`The prompt: ${plural(context.messages.length, "message")}${change ? `, ${change.same} cached` : ""}`, false,
      prompt(context, change?.same ?? 0)));
};

const NOTES = 20;
const built = new Map();
const keyOf = (where, seq) => JSON.stringify([where.user, where.session, seq]);

export const note = (where, seq, context) => {
  built.set(keyOf(where, seq), context);
  if (built.size > NOTES) built.delete(built.keys().next().value);
};
export const dropNotes = () => built.clear();

// The context of the question with that number: as it came with the answer, else built again by the service.
const contextAt = async (where, seq, signal) =>
  built.get(keyOf(where, seq)) ?? post("/replay", where, { message: Number(seq) }, signal);

// The nearest question at or before a number: its entry, or null.
export const questionAt = async (where, seq, signal) => {
  let before = seq + 1;
  while (before > 1) {
    const { items } = await get("/messages", { ...where, before, limit: 50 }, signal);
    const found = items.findLast((entry) => entry.message.role === "user");
    if (found || !items.length) return found ?? null;
    before = items[0].seq;
  }
  return null;
};

// The panel of the question with that number, compared with the question before it.
export const panelAt = async (where, seq, go, signal) => {
  const context = await contextAt(where, seq, signal);
  const earlier = await questionAt(where, seq - 1, signal);
  const before = earlier && (await contextAt(where, earlier.seq, signal).catch(() => null));
  return panel(context, before, built.has(keyOf(where, seq)), where, go);
};
