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

export const view = async ({ where, go, signal, sessions }) => {
  const { items, earlier } = await get("/messages", { ...where, limit: 50 }, signal);
  const before = earlier && button("Earlier messages", () => go({ view: "timeline", at: items[0].seq }), { class: "link" });
  const log = h("div", { class: "log", role: "log", "aria-label": "Conversation", tabindex: 0 }, before, shown(items));
  const side = h("div", { class: "side" });
  const field = h("textarea", { id: "say", rows: 2, required: true, placeholder: "Ask about anything said before" });
  const budget = h("input", { id: "budget", type: "number", min: 1, step: 1, placeholder: "auto", title: "Tokens" });
  const send = h("button", {}, "Send");

  const showContext = async (entry) => show(side, await panelAt(where, entry.seq, go, signal));

  const turn = async (text) => {
    if (log.querySelector(".empty")) show(log);
    const answer = bubble("assistant", "");
    answer.ariaBusy = "true";
    log.append(bubble("user", text), answer);
    log.scrollTop = log.scrollHeight;
    const asked = { message: text, context: true };
    if (budget.value) asked.budget = Number(budget.value);
    let context;
    let whole = false;
    try {
      const stream = await call("POST", "/chat", { query: where, body: asked, signal });
      for await (const [name, data] of events(stream)) {
        if (name === "context") show(side, panel((context = data), null, where, go));
        if (name === "token") answer.querySelector("p").append(data.text);
        whole ||= name === "done";
        if (name === "error") throw Object.assign(new Error(data.detail), { next: data.next });
        log.scrollTop = log.scrollHeight;
      }
      if (!whole) throw new Problem(0, { detail: "The answer broke off.", next: "check that the service runs, then ask again" });
      const entry = await questionAt(where, Number.MAX_SAFE_INTEGER - 2, signal);
      note(where, entry.seq, context);
      await showContext(entry);
      status("Answered.");
      await sessions();
    } catch (error) {
      if (signal.aborted) return;
      log.append(failed(error));
      log.scrollTop = log.scrollHeight;
      if (answer.querySelector("p").textContent) return;
      answer.remove();
      field.value ||= text;
    } finally {
      answer.ariaBusy = null;
    }
  };

  const submit = async (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text || send.disabled) return;
    field.value = "";
    send.disabled = true;
    await turn(text);
    send.disabled = false;
    field.focus();
  };
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    field.form.requestSubmit();
  });

  const ask = (question) => button(question, () => ((field.value = question), field.form.requestSubmit()),
    { class: "quiet" });
  if (!items.length) {
    show(log, empty("Nothing said here yet", QUESTIONS.length ? "Ask about what was said in other conversations:"
      : "Say something about yourself; ask about it in another conversation.",
    QUESTIONS.length > 0 && h("div", { class: "suggested" }, QUESTIONS.map(ask))));
  }
  const last = items.findLast((entry) => entry.message.role === "user");
  if (last) show(side, loading());
  if (last) showContext(last).catch((error) => signal.aborted || show(side, failed(error)));
  else show(side, empty("The context appears here", "After each turn you see what the model was sent, and why."));

  const both = h("div", { class: "split" },
    h("section", { class: "talk", "aria-label": "Chat" }, log,
      h("form", { class: "say", onsubmit: submit },
        h("label", { for: "say", class: "hidden" }, "Message"), field,
        h("div", { class: "say-foot" },
          h("label", { for: "budget" }, "Budget"), budget, h("span", { class: "hint" }, "Enter sends"), send))),
    side);
  both.addEventListener("shown", () => (log.scrollTop = log.scrollHeight));
  return both;
};
