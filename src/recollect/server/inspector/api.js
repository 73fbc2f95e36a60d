// The service's REST, with the key it asks for kept for as long as the tab is open.

import { button, dialog, h, sentence } from "./dom.js";

const KEY = "recollect-key";
let asking = null;

export class Problem extends Error {
  constructor(status, data) {
    super(data.detail ?? data.title ?? `The service answered ${status}.`);
    this.status = status;
    this.next = data.next ?? "";
  }
}

const askKey = (why) =>
  (asking ??= dialog("A key is needed", (close) => {
    const field = h("input", { id: "key", type: "password", autocomplete: "off", required: true });
    const keep = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, field.value.trim());
      close(true);
    };
    return h("form", { onsubmit: keep },
      h("p", {}, why, " Yours stays in this tab and is forgotten when you close it."),
      h("label", { for: "key" }, "Key"), field,
      h("div", { class: "actions" }, button("Cancel", () => close(false), { class: "quiet" }), h("button", {}, "Go on")));
  }, true).finally(() => (asking = null)));

const problemOf = async (answer) => {
  const data = await answer.json().catch(() => ({}));
  return new Problem(answer.status, data);
};

export const call = async (method, path, { query = {}, body, file, signal, headers = {} } = {}) => {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null && value !== ""));
  const key = sessionStorage.getItem(KEY);
  const sent = { ...headers };
  if (key) sent.Authorization = `Bearer ${encodeURIComponent(key)}`; // a key has no letter that this changes
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (file) sent["Content-Type"] = "application/octet-stream";
  // The address is relative, so a proxy may have the service in a folder of its site.
  const answer = await fetch(`.${path}${asked.size ? `?${asked}` : ""}`, {
    method, headers: sent, body: file ?? (body === undefined ? undefined : JSON.stringify(body)), signal,
  }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The service can't be reached.", next: "check that it runs, then try again" });
  });
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  const why = { 401: key ? "That key is not known." : ["This service has keys. ", h("code", {}, "recollect keys add"), " makes one."], 403: key && `${sentence(problem.message)}.` }[answer.status];
  if (why && (await askKey(why))) return call(method, path, { query, body, file, signal, headers });
  if (answer.status === 401) throw new Problem(401, { detail: "A key is needed.", next: "try again to be asked for it" });
  throw problem;
};

export const get = async (path, query, signal) => (await call("GET", path, { query, signal })).json();
export const post = async (path, query, body, signal) => (await call("POST", path, { query, body, signal })).json();

// All items of a list that comes page by page.
export const all = async (path, query, signal) => {
  const found = [];
  for (let after; after !== null;) {
    const page = await get(path, { ...query, after, limit: 1_000 }, signal);
    found.push(...page.items);
    ({ after } = page);
  }
  return found;
};

// The events of an answer as they come: [name, data] pairs, until it ends or breaks off.
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => {
        const cut = line.indexOf(": ");
        return [line.slice(0, cut), line.slice(cut + 2)];
      }));
      if (fields.event) yield [fields.event, JSON.parse(fields.data)];
    }
  }
}
