// How the service does, as it goes: small plots of what it counts, looked at every two seconds.

import { call, get } from "./api.js";
import { h, number, percent, show, status } from "./dom.js";
import { lineOf } from "./plot.js";

export const title = "Metrics";

const EVERY = 2_000;
const KEPT = 150;
const ms = (seconds) => `${number(1_000 * seconds, 1)} ms`;

// Each plot: its name, the value out of two looks (now, before) and how it is written.
const PLOTS = [
  ["Requests a second", (now, before) => rate(now, before), (value) => number(value, 1)],
  ["Messages kept", (now) => now.recollect_messages_total, number],
  ["Contexts built", (now) => now.recollect_contexts_total, number],
  ["Time to build a context, median", (now) => now.recollect_context_seconds_p50, ms],
  ["Time to look into memory, 95th percentile", (now) => now.recollect_retrieval_seconds_p95, ms],
  ["Tokens of a context, median", (now) => now.recollect_context_tokens_p50, number],
  ["Cached prefix, median", (now) => now.recollect_cached_prefix_ratio_p50, percent],
  ["Things learned", (now) => now.recollect_learned_total, number],
  ["Memory of the process", (now) => now.recollect_process_bytes / 2 ** 20, (value) => `${number(value)} MiB`],
];
const looks = [];

const rate = (now, before) => (before ? Math.max(0, (now.requests - before.requests) / ((now.time - before.time) / 1_000)) : 0);

const look = async (signal) => {
  const [stats, text] = await Promise.all([
    get("/stats", {}, signal), call("GET", "/metrics", { signal }).then((answer) => answer.text()),
  ]);
  const counted = text.split("\n").filter((line) => line.startsWith("recollect_http_requests_total{"));
  const requests = counted.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  looks.push({ ...stats, requests, time: performance.now() });
  looks.splice(0, looks.length - KEPT);
};

const plots = () => PLOTS.map(([name, value, written]) => {
  const found = looks.map((now, n) => value(now, looks[n - 1]));
  if (found.at(-1) == null) { // not counted yet, which is not 0
    return h("figure", { class: "metric" }, h("figcaption", {}, name), h("b", {}, "–"), h("div", { class: "plot" }),
      h("div", { class: "axis" }, "none yet"));
  }
  const values = found.map((value) => value ?? 0);
  const told = written(values.at(-1));
  const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => written(value));
  const drawn = low === high ? values.slice(-1) : values; // what is written alike is drawn alike
  const ago = Math.round((looks.at(-1).time - looks[0].time) / 1_000);
  return h("figure", { class: "metric" }, h("figcaption", {}, name), h("b", {}, told), lineOf(drawn, `${name}: ${told}`),
    h("div", { class: "axis" }, h("span", {}, ago > 0 && `${number(ago)} s ago`), h("span", {}, low !== high && `${low} – ${high}`),
      h("span", {}, "now")));
});

export const view = async ({ signal }) => {
  await look(signal);
  const place = h("div", { class: "metrics" }, plots());
  const timer = setInterval(() => {
    if (document.hidden) return;
    look(signal).then(() => (status(""), show(place, plots()))).catch((error) => {
      if (error.status === 401 || error.status === 403) clearInterval(timer);
      if (!signal.aborted) status(error);
    });
  }, EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h("section", { "aria-label": "Metrics" }, h("p", { class: "hint" }, "Counted since the service was started."), place);
};
