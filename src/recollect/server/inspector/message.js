// One message: found by its id, shown whole, jumped to.

import { get } from "./api.js";
import { button, dialog, h, number, plural, status, told, when } from "./dom.js";

const WHY = { user: "Show its context", assistant: "Why this answer?" };

// Go to where a message stands: in that conversation or, where none is named, in whichever has it.
export const jump = async (where, id, session, go) => {
  const found = await get("/message", { user: where.user, session, id }).catch((error) => status(error));
  if (found) go({ view: "timeline", session: found.session, at: String(found.seq) });
};

export const row = (entry) => {
  const { message } = entry;
  return [
    h("span", { class: `role ${message.role}` }, message.role),
    h("span", { class: "row-text", dir: "auto" }, told(message).slice(0, 400) || "—"),
    h("span", { class: "num" }, plural(entry.tokens, "token")),
  ];
};

// A message whole, and what can be done with it.
export const open = (entry, where, go) =>
  dialog(`Message ${number(entry.seq)}`, (close) => [
    h("p", { class: "hint" }, h("span", { class: `role ${entry.message.role}` }, entry.message.role), " ",
      when(entry.message.at), ` · ${plural(entry.tokens, "token")} · `, h("code", {}, entry.message.id)),
    h("pre", { class: `whole ${entry.message.role}`, dir: "auto", tabindex: 0 }, told(entry.message)),
    h("div", { class: "actions" },
      button("Forget this message…", () => (close(), go({ view: "forget", at: entry.message.id })), { class: "quiet danger" }),
      WHY[entry.message.role] &&
        button(WHY[entry.message.role], () => (close(), go({ view: "replay", at: String(entry.seq) })), { class: "quiet" }),
      button("Close", () => close())),
  ]);
