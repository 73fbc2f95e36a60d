// Elements from plain data. Words only ever become text nodes.

const SVG = "http://www.w3.org/2000/svg";

// One by one: a hundred thousand are too many for the arguments of one call.
const put = (element, children) => {
  for (const child of children) element.append(child);
  return element;
};

const fill = (element, given, children) => {
  put(element, children.flat(3).filter((child) => child != null && child !== false)); // before dir="auto", which looks at all with each
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  return element;
};

export const h = (tag, given = {}, ...children) => fill(document.createElement(tag), given, children);
export const svg = (tag, given = {}, ...children) => fill(document.createElementNS(SVG, tag), given, children);

export const show = (place, ...children) => place.replaceChildren(put(new DocumentFragment(), children.flat(3).filter(Boolean)));

export const number = (value, digits = 0) =>
  Number(value).toLocaleString(undefined, { maximumFractionDigits: digits });

export const percent = (share) => `${Math.round(100 * share)} %`;

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

const CLOCK = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const when = (iso) => {
  if (!iso) return "";
  const date = new Date(iso);
  return h("time", { datetime: iso, title: date.toISOString() }, CLOCK.format(date));
};

// A name among other words: it is read in its own direction, and what turns text around is shown, not heeded.
export const named = (text) => `\u2068${text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd")}\u2069`;

export const button = (label, onclick, given = {}) => h("button", { type: "button", onclick, ...given }, label);

export const empty = (title, hint = "", ...more) =>
  h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), hint && h("p", {}, hint), more);

export const loading = () => h("p", { class: "loading" }, "Loading…");

// An error as a sentence; a name that it begins with, such as openai:gpt-5, stays as it is.
export const sentence = (text) => text.replace(/^[a-z](?=[a-z']*[ ,])/, (first) => first.toUpperCase());

// What went wrong and what to do next; with a button where doing it again may help.
export const failed = (error, again) =>
  h("div", { class: "problem", role: "alert" }, h("p", {}, sentence(error.message)), error.next && h("p", {}, `Next: ${error.next}`),
    again && ![403, 404, 422].includes(error.status) && button("Try again", again, { class: "quiet" }));

// Tell what was done, for a while; what is being done, or went wrong, until something else is told. What can be seen anyway
// is only told to who listens.
export const status = (told, seen = false) => {
  const place = document.getElementById("status");
  const text = [told.message ? sentence(told.message) : told, told.next].filter(Boolean).join("\nNext: ");
  if (place.textContent === text && (told.message || !text)) return;
  const kind = told.message ? "wrong" : seen ? "hidden" : text.endsWith("…") && "stays";
  show(place, text && h("span", { class: kind }, text));
};

// The words of a message, its other parts named in brackets.
export const words = (content) => {
  if (typeof content === "string") return content;
  return (content ?? []).map(part).join("\n");
};

const part = (found) => {
  if (found.type === "text") return found.text ?? "";
  if (found.type === "thinking") return `[thinks] ${found.text ?? ""}`;
  if (found.type === "tool_call") return `[calls ${found.name} ${found.arguments}]`;
  if (found.type === "tool_result") return `[tool result] ${words(found.content)}`;
  return `[${found.type}]`;
};

// All that a message says: its words, a refusal, and that it broke off.
export const told = ({ content, extra, metadata }) =>
  [words(content), extra?.refusal, metadata?.partial && "[broke off]"].filter(Boolean).join("\n");

// A passage; of a long one the first lines, and a button to read on.
export const passage = (text, given = {}, lines = 6) => {
  const chars = 80 * lines;
  const start = [...text.split("\n", lines).join("\n").slice(0, chars)].slice(0, chars - 1).join("").trimEnd();
  const cut = start.length < text.length - 40;
  const words = h("p", { ...given, dir: "auto" }, cut ? `${start}…` : text);
  const more = button("Read on", () => {
    const open = more.textContent === "Read on";
    words.textContent = open ? text : `${start}…`;
    more.textContent = open ? "Show less" : "Read on";
  }, { class: "link more" });
  return cut ? [words, more] : words;
};

const inline = (text) => text.split(/(\*\*[^*\n]+\*\*|`[^`\n]+`)/).map((part, n) => {
  if (n % 2 === 0) return part;
  return part[0] === "`" ? h("code", {}, part.slice(1, -1)) : h("b", {}, part.slice(2, -2));
});

const ITEM = /^(\s*)([-*+]|\d+[.)]) +/;
const STARTS = { blockquote: /^> ?/, heading: /^#{1,6} +(?=\S)/, ul: ITEM, table: /^\|.*\|\s*$/ };
const RULE = /^\|(\s*:?-+:?\s*\|)+\s*$/; // under the names of a table's columns
const DEEPEST = 24; // blanks that an item is moved in by

const item = (line) => {
  const [start, before, mark] = line.match(ITEM);
  const found = h("li", { dir: "auto" }, h("span", {}, /\d/.test(mark) ? mark : "•"), h("div", {}, inline(line.slice(start.length))));
  found.style.marginInlineStart = `${Math.min(before.length, DEEPEST)}ch`;
  return found;
};

const cells = (line) => line.trim().slice(1, -1).split(/(?<!\\)\|/)
  .map((cell) => h("span", {}, inline(cell.trim().replaceAll("\\|", "|"))));

const written = (kind, lines) => {
  const words = lines.join("\n").replace(/^\n+/, "").trimEnd();
  return words && h(kind, { dir: "auto" }, inline(words));
};

const SET = {
  p: (lines) => written("p", lines),
  pre: (lines) => h("pre", { dir: "auto", tabindex: 0 }, lines.join("\n")),
  blockquote: (lines) => written("blockquote", lines.map((line) => line.replace(STARTS.blockquote, ""))),
  heading: ([line]) => h("p", { dir: "auto", class: "heading", role: "heading", "aria-level": Math.min(line.indexOf(" ") + 1, 6) },
    inline(line.replace(STARTS.heading, ""))),
  ul: (lines) => h("ul", {}, lines.map(item)),
  table: (lines) => (RULE.test(lines[1])
    ? h("div", { class: "table", dir: "auto", tabindex: 0, role: "group", "aria-label": "Table" }, h("table", {},
      h("tr", {}, cells(lines[0]).map((cell) => h("th", { scope: "col" }, cell))),
      lines.slice(2).map((line) => h("tr", {}, cells(line).map((cell) => h("td", {}, cell))))))
    : written("p", lines)),
};

// An answer with the Markdown that models write most: fenced code, quotes, headings, lists, tables, bold and code; the
// rest as it is.
export const prose = (text) => {
  const blocks = [];
  let fenced = false;
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    const fence = line.trimStart().startsWith("```");
    if (fence) fenced = !fenced;
    const kind = fenced ? "pre" : Object.keys(STARTS).find((name) => STARTS[name].test(line)) ?? "p";
    if (kind === "p" && last?.kind === "ul" && /^\s+\S/.test(line)) last.lines.push(`${last.lines.pop()}\n${line.trim()}`);
    else if (last?.kind !== kind || kind === "heading" || (kind === "p" && !line.trim())) blocks.push({ kind, lines: fence ? [] : [line] });
    else if (!fence) last.lines.push(line);
  }
  return blocks.map(({ kind, lines }) => SET[kind](lines));
};

// A dialog that Escape closes, and unless it `stays` a click beside it or going elsewhere; resolves to what `close` was given, or undefined.
export const dialog = (title, build, stays = false) =>
  new Promise((resolve) => {
    const box = h("dialog", { "aria-label": title, closedby: stays ? null : "any" });
    let result;
    const close = (value) => {
      result = value;
      box.close();
    };
    box.append(h("h2", {}, title), ...[build(close)].flat());
    const leave = () => close();
    if (!stays) addEventListener("hashchange", leave);
    box.addEventListener("close", () => {
      removeEventListener("hashchange", leave);
      box.remove();
      resolve(result);
    });
    document.body.append(box);
    box.showModal();
  });

// Ask before something is erased; resolves to true where that is wanted.
export const sure = (title, what, hint, label) =>
  dialog(title, (close) => [
    h("p", { dir: "auto" }, what), h("p", { class: "hint" }, hint),
    h("div", { class: "actions" }, button("Keep it", () => close(false), { class: "quiet" }),
      button(label, () => close(true), { class: "danger" })),
  ]);

export const form = (onsubmit, ...children) =>
  h("form", { class: "bar", onsubmit: (event) => (event.preventDefault(), onsubmit(event)) }, children);
