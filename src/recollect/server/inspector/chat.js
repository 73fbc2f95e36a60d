// A chat with memory, and beside it the context each answer was made from.

import { call, events, get, Problem } from "./api.js";
import { button, empty, failed, h, loading, passage, prose, show, status, when, words } from "./dom.js";
import { note, panelAt, questionAt } from "./context.js";

export const title = "Chat";

const QUESTIONS = JSON.parse(document.querySelector("meta[name=questions]").content);

const LINES = 24; // of a long question, until it is read on
const NEWEST = 1e12; // the number of a message that no conversation reaches

const bubble = (role, at, ...inside) => h("div", { class: `bubble ${role}` },
  h("span", { class: "who" }, h("span", {}, role === "user" ? "You" : role), " ", when(at)), inside);
const now = () => new Date().toISOString();
const saying = (role, text) => (role === "assistant" ? prose(text) : passage(text, {}, LINES));

const parts = ({ message }) => (typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content ?? []);
const folded = (text, ...summary) =>
  h("details", { class: "call" }, h("summary", {}, summary), h("pre", { dir: "auto", tabindex: 0 }, text));

// A call of a tool; what it gave is under it.
const called = (call, results) =>
  folded(words(results.get(call.id)) || "No result yet.", h("b", {}, call.name), " ", call.arguments);
const thought = (text) => folded(text, "Thoughts");
const brokeOff = () => h("div", { class: "hint" }, "It broke off here.");

// The messages as a chat; `why` makes what leads from an answer to the context of its question.
const shown = (entries, why) => {
  const results = new Map(entries.flatMap(parts).map((part) => [part.call_id, part.content]));
  const talk = entries.filter(({ message }) => message.role !== "tool");
  let asked = null;
  return talk.map((entry, n) => {
    const { role, at, extra, metadata } = entry.message;
    const of = (kind) => parts(entry).filter(({ type }) => type === kind);
    if (role === "user") asked = entry;
    const spoken = words(parts(entry).filter(({ type }) => !["tool_call", "thinking"].includes(type)));
    const text = [spoken, extra?.refusal].filter(Boolean).join("\n");
    const thoughts = of("thinking").filter((part) => part.text).map((part) => thought(part.text));
    const calls = of("tool_call").map((call) => called(call, results));
    const ends = role === "assistant" && asked && talk[n + 1]?.message.role !== "assistant";
    return (text || calls.length + thoughts.length > 0) &&
      bubble(role, at, thoughts, text && saying(role, text), calls, metadata?.partial && brokeOff(), ends && why(asked));
  });
};

// Answers on their way, and what is written and not sent, by conversation: they go on while another view is shown.
const running = new Map();
const drafts = new Map();
let limit = ""; // the budget that was written last
const keyOf = (where) => JSON.stringify([where.user, where.session]);

// Set what was said so far, and tell so; what takes longer to set is set less often.
const set = (turn) => {
  const start = performance.now();
  show(turn.words, prose(turn.said));
  turn.answer.dispatchEvent(new CustomEvent("came"));
  turn.pause = 4 * (performance.now() - start);
  turn.soon = null;
};

const ask = async (turn, where, body) => {
  try {
    const stream = await call("POST", "/chat", { query: where, body, signal: turn.stop.signal });
    let whole = false;
    for await (const [name, data] of events(stream)) {
      if (name === "context") {
        turn.context = data;
        turn.answer.dispatchEvent(new CustomEvent("sent"));
      }
      if (name === "thinking") {
        if (!turn.thoughts) turn.words.before((turn.thoughts = thought("")));
        turn.thoughts.lastChild.append(data.text);
      }
      if (name === "token") {
        turn.said += data.text;
        turn.soon ??= setTimeout(set, turn.pause, turn);
      }
      if (name === "error") throw Object.assign(new Error(data.detail), { next: data.next });
      if (name === "done" && !data.message) throw new Problem(0, { detail: "The model gave no answer.", next: "ask in other words" });
      if (name === "done") turn.cut = data.finish === "length";
      whole ||= name === "done";
    }
    if (!whole) throw new Problem(0, { detail: "The answer broke off.", next: "check that the service runs, then ask again" });
  } finally {
    clearTimeout(turn.soon);
    set(turn);
    turn.answer.ariaBusy = null;
    running.delete(keyOf(where));
  }
};

// Begin an answer.
const begin = (where, text, budget) => {
  const turn = { text, said: "", soon: null, pause: 0, words: h("div", { class: "words" }), thoughts: null, context: null, stop: new AbortController() };
  turn.answer = bubble("assistant", now(), turn.words);
  turn.answer.ariaBusy = "true";
  running.set(keyOf(where), turn);
  turn.done = ask(turn, where, { message: text, context: true, ...(budget && { budget: Number(budget) }) });
  return turn;
};

// Stop every answer that is on its way.
export const stopAll = () => running.forEach((turn) => turn.stop.abort());

// The last messages, and the answer that comes to them.
const read = async (where, signal) => {
  for (;;) {
    const turn = running.get(keyOf(where));
    const page = await get("/messages", { ...where, limit: 50 }, signal);
    if (turn && !running.has(keyOf(where))) continue; // it was kept while the messages were read
    const last = page.items.findLast((entry) => entry.message.role === "user");
    const asked = Boolean(turn && last && words(last.message.content) === turn.text);
    return { ...page, last, asked, turn: asked && page.items.at(-1) !== last ? null : turn };
  }
};

export const view = async ({ where, at, go, stay, signal, sessions, draw }) => {
  const { items, before, last, asked, turn: coming } = await read(where, signal);
  let chosen = 0; // the number of the question whose context is shown
  const why = (entry) => button("Why this answer?", () => {
    stay(entry.seq);
    showContext(entry).then(() => (side.focus({ preventScroll: true }), side.scrollIntoView({ block: "nearest" })));
  }, { class: "link why", "data-seq": entry.seq, "aria-pressed": String(entry.seq === chosen) });
  const earlier = before && button("Earlier messages", () => go({ view: "timeline", at: before }), { class: "link" });
  const log = h("div", { class: "log", role: "log", "aria-label": "Conversation", tabindex: 0 }, earlier, shown(items, why));
  const side = h("div", { class: "side", tabindex: -1 });
  const draft = (text) => drafts.set(keyOf(where), text);
  const field = h("textarea", {
    id: "say", rows: 2, required: true, placeholder: "Ask about anything said before",
    value: drafts.get(keyOf(where)) ?? "", oninput: () => draft(field.value),
  });
  const budget = h("input", {
    id: "budget", type: "number", min: 1, step: 1, placeholder: "auto", title: "Tokens the context may have",
    value: limit, oninput: () => (limit = budget.value),
  });
  const send = h("button", { onclick: (event) => event.detail > 1 && event.preventDefault() }, "Send"); // 2: a double click on Stop
  const stop = button("Stop", ({ detail }) => detail < 2 && running.get(keyOf(where))?.stop.abort(), // 2: a double click on Send
    { class: "quiet", hidden: true });
  let end = 0; // how far down the end was when it was gone to; who is above it reads
  const toEnd = () => ((log.scrollTop = log.scrollHeight), (end = log.scrollTop));
  const keepUp = () => log.scrollTop > end - 50 && toEnd();
  const busy = (yes) => ((send.hidden = yes), (stop.hidden = !yes));

  // Show the context of a question, and which answer was made from it.
  const showContext = async (entry) => {
    chosen = entry.seq;
    for (const one of log.querySelectorAll(".why")) one.ariaPressed = String(Number(one.dataset.seq) === chosen);
    side.ariaBusy = "true";
    const built = await panelAt(where, entry.seq, go, signal).catch((error) => failed(error, () => showContext(entry)));
    if (signal.aborted || chosen !== entry.seq) return;
    show(side, built);
    side.scrollTop = 0;
    side.ariaBusy = null;
  };
  // Show the context that an answer on its way is made from; its question is kept by then.
  const showSent = async (turn) => {
    turn.entry = await questionAt(where, NEWEST, signal).catch(() => null);
    if (!turn.entry) return;
    note(where, turn.entry.seq, turn.context);
    await showContext(turn.entry);
  };

  // Show an answer as it comes; to its end also where this view is left before.
  const follow = async (turn) => {
    busy(true);
    newest = null; // not known until it is kept
    log.append(turn.answer);
    toEnd();
    let sent = turn.context && showSent(turn);
    turn.answer.addEventListener("sent", () => (sent = showSent(turn)), { signal });
    turn.answer.addEventListener("came", keepUp, { signal });
    try {
      await turn.done;
      status(turn.cut ? "Answered, but cut off at the model's limit." : "Answered.", !turn.cut);
      await sent;
      await sessions();
    } catch (error) {
      failedTurn(turn, error);
    } finally {
      busy(false);
      if (turn.entry && !signal.aborted) turn.answer.append(why(turn.entry));
      keepUp();
      newest = await lastSeq();
    }
  };
  // What was said elsewhere is shown once this page is looked at again.
  let newest = items.at(-1)?.seq;
  const lastSeq = () => get("/messages", { ...where, limit: 1 }, signal).then((found) => found.items.at(-1)?.seq, () => newest);
  addEventListener("focus", async () => {
    const found = await lastSeq();
    if (newest !== null && found !== newest && !signal.aborted) draw();
  }, { signal });

  const failedTurn = (turn, error) => {
    const stopped = turn.stop.signal.aborted;
    if (stopped || signal.aborted) status(stopped ? "Stopped." : error);
    if (turn.said) turn.answer.append(brokeOff());
    else {
      draft(drafts.get(keyOf(where)) || turn.text);
      turn.answer.remove();
      field.value = drafts.get(keyOf(where));
    }
    if (signal.aborted) return;
    if (!stopped) log.append(failed(error));
    toEnd();
  };

  const submit = async (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text || running.has(keyOf(where))) return;
    draft((field.value = ""));
    field.focus();
    stay(null);
    if (log.querySelector(".empty")) show(log);
    log.querySelectorAll(".problem").forEach((told) => told.remove());
    const before = [...log.querySelectorAll(".bubble")].at(-1); // asked again, it is the same message
    if (!before?.matches(".user") || before.querySelector("p").textContent !== text) log.append(bubble("user", now(), saying("user", text)));
    await follow(begin(where, text, budget.value));
  };
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return; // 229: a word is composed in Safari
    event.preventDefault();
    field.form.requestSubmit();
  });

  const suggest = (question) => button(question, () => ((field.value = question), field.form.requestSubmit()),
    { class: "quiet" });
  if (!items.length && !coming) {
    show(log, empty("Nothing said here yet", QUESTIONS.length ? "Ask about what was said in other conversations:"
      : "Say something about yourself; ask about it in another conversation.",
    QUESTIONS.length > 0 && h("div", { class: "suggested" }, QUESTIONS.map(suggest))));
  }
  show(side, last ? loading() : empty("The context appears here", "After each turn you see what the model was sent, and why."));
  if (last && !coming) showContext(items.find(({ seq, message }) => seq === Number(at) && message.role === "user") ?? last);
  if (coming && !asked) log.append(bubble("user", now(), saying("user", coming.text)));
  if (coming) follow(coming);

  const both = h("div", { class: "split" },
    h("section", { class: "talk", "aria-label": "Chat" }, button("To the message field", () => field.focus(), { class: "skip" }), log,
      h("form", { class: "say", onsubmit: submit },
        h("label", { for: "say", class: "hidden" }, "Message"), field,
        h("div", { class: "say-foot" },
          h("label", { for: "budget" }, "Budget"), budget, h("span", { class: "hint" }, "Enter sends"), stop, send))),
    side);
  both.addEventListener("shown", toEnd);
  return both;
};
