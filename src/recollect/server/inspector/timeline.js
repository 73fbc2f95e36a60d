// A conversation from its first message to its last. Only the rows in sight exist, however many there are.

import { get } from "./api.js";
import { button, empty, form, h, number, plural, show, status, when } from "./dom.js";
import { open, row } from "./message.js";

export const title = "Time line";

const ROW = 64;
const PAGE = 100;
const PAGES = 30;
const AGAIN = 2_000; // how long after a failure it is tried again
const TALLEST = 8_000_000; // what every browser can lay out; beyond it the scroll bar is a scale of the whole

export const view = async ({ where, at, go, stay, signal }) => {
  const { items } = await get("/messages", { ...where, limit: 1 }, signal);
  const last = items.at(-1)?.seq ?? 0;
  if (!last) return empty("Nothing said here yet", "Messages appear here as they are kept.");
  const rows = new Rows(where, last, signal, go);
  const goTo = h("input", { id: "goto", type: "number", min: 1, max: last, placeholder: `1 – ${number(last)}` });
  const whole = h("section", { class: "timeline", "aria-label": "Time line" },
    form(() => stay(rows.to(Number(goTo.value))), h("label", { for: "goto" }, "Go to message"), goTo,
      h("button", { class: "quiet" }, "Go"), h("span", { class: "hint" }, plural(last, "message"))),
    rows.box);
  whole.addEventListener("shown", () => rows.to(at ? Number(at) : last, Boolean(at)));
  return whole;
};

class Rows {
  constructor(where, last, signal, go) {
    Object.assign(this, { where, last, signal, go, pages: new Map(), first: 0, top: 0, marked: 0, waiting: null, told: "" });
    this.layer = h("div", { class: "rows", role: "list", "aria-label": "Messages" });
    this.layer.style.setProperty("--widest", `${number(last).length}ch`);
    const space = h("div", { class: "space" }, this.layer);
    this.height = Math.min(last * ROW, TALLEST);
    space.style.height = `${this.height}px`;
    this.box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Messages, scroll to read" }, space);
    this.box.addEventListener("scroll", () => this.scrolled());
    this.box.addEventListener("keydown", (event) => this.step(event));
    this.box.addEventListener("wheel", (event) => this.roll(event), { passive: false });
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  get seen() {
    return this.box.clientHeight / ROW;
  }

  get most() {
    return Math.max(0, this.last - this.seen);
  }

  // Pixels of the scroll bar a row is worth.
  get scale() {
    return this.most ? (this.height - this.box.clientHeight) / this.most : ROW;
  }

  // Whether the scroll bar is shorter than all rows are high.
  get short() {
    return this.scale < ROW * 0.99;
  }

  scrolled() {
    const moved = this.box.scrollTop - this.top;
    if (!moved) return;
    const near = Math.abs(moved) < 2 * this.box.clientHeight;
    const exact = near && this.short && this.box.scrollTop > 0 && this.box.scrollTop < this.height - this.box.clientHeight;
    this.place(exact ? this.first + moved / ROW : this.box.scrollTop / this.scale);
  }

  place(first) {
    this.first = Math.min(this.most, Math.max(0, first));
    const wanted = this.first * this.scale;
    if (Math.abs(wanted - this.box.scrollTop) >= 1) this.box.scrollTop = wanted;
    this.top = this.box.scrollTop;
    this.draw();
  }

  to(seq, mark = true) {
    const wanted = Math.min(this.last, Math.max(1, seq || 1));
    this.marked = mark ? wanted : 0;
    this.place(wanted - 1 - this.seen / 2);
    if (mark) status(`Message ${number(wanted)} of ${number(this.last)}`, true);
    return wanted;
  }

  // By a wheel: a short scroll bar would end before the rows do.
  roll(event) {
    if (!this.short || event.ctrlKey) return;
    const before = this.first;
    this.place(before + event.deltaY / ROW);
    if (this.first !== before) event.preventDefault();
  }

  // By keys: from a row to the one above or below it, or through the whole.
  step(event) {
    const page = this.seen - 1;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const row = event.target.closest(".row");
    if (!row || Math.abs(step) !== 1) return this.place(this.first + step);
    const seq = Math.min(this.last, Math.max(1, Number(row.dataset.seq) + step));
    this.place(Math.min(seq - 1, Math.max(this.first, seq - this.seen)));
    this.layer.querySelector(`[data-seq="${seq}"] button`).focus({ preventScroll: true });
  }

  draw() {
    if (!this.box.isConnected) return;
    this.layer.style.height = `${this.box.clientHeight}px`;
    const from = Math.floor(this.first);
    const until = Math.min(this.last, Math.ceil(this.first + this.seen));
    const found = [];
    for (let n = from; n < until; n += 1) found.push(this.row(n + 1, (n - this.first) * ROW));
    const focused = this.layer.contains(document.activeElement) && document.activeElement.closest(".row").dataset.seq;
    show(this.layer, found);
    if (focused) (this.layer.querySelector(`[data-seq="${focused}"] button`) ?? this.box).focus({ preventScroll: true });
    this.waiting ??= setTimeout(() => this.load(), 60);
  }

  row(seq, offset) {
    const page = this.pages.get(Math.floor((seq - 1) / PAGE));
    const entry = page?.get(seq);
    const inside = entry
      ? button(row(entry), () => open(entry, this.where, this.go), { class: "row-open" })
      : button(page ? "erased" : "…", null, { class: "row-open gone", "aria-disabled": "true" });
    const item = h("div", { class: seq === this.marked ? "row marked" : "row", role: "listitem",
      "aria-setsize": this.last, "aria-posinset": seq, "data-seq": seq },
      h("span", { class: "seq" }, number(seq), entry && when(entry.message.at)), inside);
    item.style.transform = `translateY(${offset}px)`;
    return item;
  }

  // Read what is in sight by now and not known; while rows go by, again and again.
  async load() {
    const wanted = new Set([this.first, Math.min(this.last - 1, this.first + this.seen)].map((n) => Math.floor(n / PAGE)));
    const missing = [...wanted].filter((page) => !this.pages.has(page));
    await Promise.all(missing.map(async (page) => {
      const after = page * PAGE;
      const { items } = await get("/messages", { ...this.where, after, limit: PAGE }, this.signal);
      this.pages.set(page, new Map(items.map((entry) => [entry.seq, entry])));
    })).then(() => this.told && status((this.told = "")), (error) => this.signal.aborted || status((this.told = error)));
    for (const page of this.pages.keys()) {
      if (this.pages.size <= PAGES) break;
      if (!wanted.has(page)) this.pages.delete(page);
    }
    this.waiting = this.told && !this.signal.aborted ? setTimeout(() => this.load(), AGAIN) : null;
    if (missing.some((page) => this.pages.has(page))) this.draw();
  }
}
