// A chat with memory, and beside it the context each answer was made from.

import { call, events, get, Problem } from "./api.js";
import { button, empty, failed, h, loading, show, status, words } from "./dom.js";
import { note, panel, panelAt, questionAt } from "./context.js";

export const title = "Chat";

const QUESTIONS = JSON.parse(document.querySelector("meta[name=questions]").content);

const bubble = (role, text) => h("div", { class: `bubble ${role}` },
  h("span", { class: "who" }, role === "user" ? "You" : role), h("p", { dir: "auto" }, text));

const shown = (entries) => entries
  .filter(({ message }) => message.role !== "tool" && words(message.content))
  .map(({ message }) => bubble(message.role, words(message.content)));

// Answers on their way, by conversation: they go on while another view is shown.
const running = new Map();
const keyOf = (where) => JSON.stringify([where.user, where.session]);

const ask = async (turn, where, body) => {
  try {
    const stream = await call("POST", "/chat", { query: where, body, signal: turn.stop.signal });
    let whole = false;
    for await (const [name, data] of events(stream)) {
      if (name === "context") turn.context = data;
      if (name === "token") turn.answer.querySelector("p").append(data.text);
      if (name === "error") throw Object.assign(new Error(data.detail), { next: data.next });
      whole ||= name === "done";
      turn.answer.dispatchEvent(new CustomEvent("came", { detail: name }));
    }
    if (!whole) throw new Problem(0, { detail: "The answer broke off.", next: "check that the service runs, then ask again" });
  } finally {
    turn.answer.ariaBusy = null;
    running.delete(keyOf(where));
  }
};

// Begin an answer.
const begin = (where, text, budget) => {
  const turn = { text, answer: bubble("assistant", ""), context: null, stop: new AbortController() };
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

export const view = async ({ where, go, signal, sessions }) => {
  const { items, earlier, last, asked, turn: coming } = await read(where, signal);
  const before = earlier && button("Earlier messages", () => go({ view: "timeline", at: items[0].seq }), { class: "link" });
  const log = h("div", { class: "log", role: "log", "aria-label": "Conversation", tabindex: 0 }, before, shown(items));
  const side = h("div", { class: "side" });
  const field = h("textarea", { id: "say", rows: 2, required: true, placeholder: "Ask about anything said before" });
  const budget = h("input", { id: "budget", type: "number", min: 1, step: 1, placeholder: "auto", title: "Tokens" });
  const send = h("button", {}, "Send");
  const stop = button("Stop", () => running.get(keyOf(where))?.stop.abort(), { class: "quiet", hidden: true });
  const toEnd = () => (log.scrollTop = log.scrollHeight);
  const busy = (yes) => ((send.hidden = yes), (stop.hidden = !yes));

  const showContext = async (entry) => show(side, await panelAt(where, entry.seq, go, signal));
  const showSent = ({ context }) => show(side, panel(context, null, where, go));

  // Show an answer as it comes; to its end also where this view is left before.
  const follow = async (turn) => {
    busy(true);
    log.append(turn.answer);
    toEnd();
    const came = ({ detail }) => ((detail === "context" && showSent(turn)), toEnd());
    turn.answer.addEventListener("came", came, { signal });
    try {
      await turn.done;
      status("Answered.");
      if (!signal.aborted) {
        const entry = await questionAt(where, Number.MAX_SAFE_INTEGER - 2, signal);
        note(where, entry.seq, turn.context);
        await showContext(entry);
      }
      await sessions();
    } catch (error) {
      failedTurn(turn, error);
    } finally {
      busy(false);
    }
  };
  const failedTurn = (turn, error) => {
    const stopped = turn.stop.signal.aborted;
    if (stopped || signal.aborted) status(stopped ? "Stopped." : error.message);
    if (signal.aborted) return;
    if (!stopped) log.append(failed(error));
    toEnd();
    if (turn.answer.querySelector("p").textContent) return;
    turn.answer.remove();
    field.value ||= turn.text;
  };

  const submit = async (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text || running.has(keyOf(where))) return;
    field.value = "";
    field.focus();
    if (log.querySelector(".empty")) show(log);
    log.querySelectorAll(".problem").forEach((told) => told.remove());
    const before = [...log.querySelectorAll(".bubble")].at(-1); // asked again, it is the same message
    if (!before?.matches(".user") || before.querySelector("p").textContent !== text) log.append(bubble("user", text));
    await follow(begin(where, text, budget.value));
  };
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
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
  if (last) show(side, loading());
  if (coming?.context) showSent(coming);
  else if (last && !coming) showContext(last).catch((error) => signal.aborted || show(side, failed(error)));
  else if (!last) show(side, empty("The context appears here", "After each turn you see what the model was sent, and why."));
  if (coming && !asked) log.append(bubble("user", coming.text));
  if (coming) follow(coming);

  const both = h("div", { class: "split" },
    h("section", { class: "talk", "aria-label": "Chat" }, log,
      h("form", { class: "say", onsubmit: submit },
        h("label", { for: "say", class: "hidden" }, "Message"), field,
        h("div", { class: "say-foot" },
          h("label", { for: "budget" }, "Budget"), budget, h("span", { class: "hint" }, "Enter sends"), stop, send))),
    side);
  both.addEventListener("shown", toEnd);
  return both;
};
