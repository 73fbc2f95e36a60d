// The page: which conversation, which view, and how one gets from one to the other.

import { get } from "./api.js";
import { button, dialog, failed, h, loading, named, plural, show, status } from "./dom.js";
import * as chat from "./chat.js";
import * as documents from "./documents.js";
import * as facts from "./facts.js";
import * as forget from "./forget.js";
import * as jobs from "./jobs.js";
import * as metrics from "./metrics.js";
import * as patterns from "./patterns.js";
import * as replay from "./replay.js";
import * as search from "./search.js";
import * as timeline from "./timeline.js";

const VIEWS = { chat, timeline, replay, search, facts, patterns, documents, jobs, metrics, forget };
const LONGEST = 30; // of names that are shown beside the title
const place = document.getElementById("view");
const picker = document.getElementById("session");
const tabs = document.getElementById("tabs");
const here = { view: "chat", user: "me", session: "first", at: null };
let leaving = null;
let titles = new Map();
let whole = true; // whether the list of conversations has them all

const address = (to) => `#/${[to.view, to.user, to.session, to.at ?? ""].map(encodeURIComponent).join("/")}`;

const decoded = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
};

const read = () => {
  const [view, user, session, at] = location.hash.slice(2).split("/").map(decoded);
  if (!Object.hasOwn(VIEWS, view) || !user || !session) return false;
  Object.assign(here, { view, user, session, at: at || null });
  return true;
};

// Go to a view; what is not named stays as it is. How far down one was is kept for the way back.
export const go = (to) => {
  const target = address({ ...here, at: null, ...to });
  history.replaceState([place.scrollTop, scrollY], "");
  if (target === location.hash) draw();
  else location.hash = target;
};

const draw = async () => {
  leaving?.abort();
  status("");
  leaving = new AbortController();
  const { signal } = leaving;
  for (const tab of tabs.children) {
    const chosen = tab.dataset.view === here.view;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
  }
  place.setAttribute("aria-labelledby", `tab-${here.view}`);
  place.className = `view-${here.view}`;
  document.title = `${VIEWS[here.view].title} · ${called(here.user, here.session)} · Recollect`;
  pick();
  const focused = place.contains(document.activeElement) && document.activeElement;
  const [top, down] = history.state ?? [0, 0];
  show(place, loading());
  if (focused) place.focus();
  const where = { user: here.user, session: here.session };
  const stay = (at) => { // name in the address what is shown now: a reload or the way back shows it again
    if (signal.aborted) return;
    here.at = at;
    history.replaceState(null, "", address(here));
  };
  try {
    const built = await VIEWS[here.view].view({
      where, at: here.at, go, stay, signal, draw, called: (session) => called(where.user, session), sessions: () => refresh().then(pick),
    });
    if (!signal.aborted) {
      show(place, built);
      place.dataset.ready = here.view;
      if (focused?.id && document.activeElement === place) document.getElementById(focused.id)?.focus(); // as it was drawn before
      place.scrollTop = top;
      scrollTo(0, down);
      built.dispatchEvent(new Event("shown"));
    }
  } catch (error) {
    if (!signal.aborted) show(place, failed(error, draw));
  }
};

const key = (user, session) => JSON.stringify([user, session]);

const pick = () => {
  const wanted = key(here.user, here.session);
  if (![...picker.options].some((option) => option.value === wanted)) {
    picker.prepend(h("option", { value: wanted }, `${named(here.session)} · ${named(here.user)}${whole ? " · new" : ""}`));
  }
  picker.value = wanted;
};

// What a conversation is called: its title where its name is long, such as a UUID, which tells nobody anything.
const called = (user, session) => named((session.length > LONGEST && titles.get(key(user, session))) || session);

const told = ({ session, title, user, messages }) => {
  const parts = [called(user, session), named(user), plural(messages, "message")];
  return (title && parts[0] !== named(title) ? [...parts, named(title)] : parts).join(" · ");
};

// Read the list of conversations anew.
const refresh = async () => {
  const { items, before } = await get("/sessions", { limit: 1_000 });
  whole = before === null;
  titles = new Map(items.map(({ user, session, title }) => [key(user, session), title]));
  show(picker, items.map((found) =>
    h("option", { value: key(found.user, found.session) }, told(found))),
  !whole && h("option", { disabled: true }, "Older ones are opened by name: New…"));
  return items;
};

const drawTabs = () => {
  const names = Object.keys(VIEWS);
  const step = (event) => {
    const now = names.indexOf(event.target.dataset.view);
    const moves = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: -1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const next = names.at(moves[event.key] % names.length);
    document.getElementById(`tab-${next}`).focus();
    go({ view: next });
  };
  show(tabs, names.map((name) =>
    button(VIEWS[name].title, () => go({ view: name }), {
      role: "tab", id: `tab-${name}`, "data-view": name, "aria-controls": "view", onkeydown: step,
    })));
};

const newSession = () =>
  dialog("New conversation", (close) => {
    const named = { required: true, pattern: ".*\\S.*", title: "Some letters" };
    const user = h("input", { id: "new-user", value: here.user, ...named });
    const session = h("input", { id: "new-name", autofocus: true, ...named });
    const open = (event) => {
      event.preventDefault();
      close();
      go({ view: "chat", user: user.value.trim(), session: session.value.trim() });
    };
    return h("form", { onsubmit: open }, h("p", { class: "hint" }, "A name that exists opens that conversation."),
      h("label", { for: "new-user" }, "User"), user, h("label", { for: "new-name" }, "Name of the conversation"), session,
      h("div", { class: "actions" }, button("Cancel", () => close(), { class: "quiet" }), h("button", {}, "Start")));
  });

const start = () => {
  drawTabs();
  picker.addEventListener("change", () => {
    const [user, session] = JSON.parse(picker.value);
    go({ user, session });
  });
  document.getElementById("new-session").addEventListener("click", newSession);
  addEventListener("hashchange", () => read() && draw());
  begin();
};

// Show what the address names, or the newest conversation.
const begin = async () => {
  show(place, loading());
  try {
    const items = await refresh();
    const known = read();
    if (!known && items.length) Object.assign(here, { user: items[0].user, session: items[0].session });
    if (!known) history.replaceState(null, "", address(here));
    draw();
  } catch (error) {
    show(place, failed(error, begin));
  }
};

start();
