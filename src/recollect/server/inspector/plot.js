// Small plots.

import { number, svg } from "./dom.js";

const W = 240;
const H = 56;

// A line through values, the newest at the right; a flat one where there is one value.
export const lineOf = (given, label) => {
  const values = given.length > 1 ? given : [given[0], given[0]];
  const top = Math.max(...values, 1e-9);
  const low = Math.min(...values, top);
  const height = (value) => H - 4 - ((value - low) / (top - low || 1)) * (H - 8);
  const step = W / (values.length - 1);
  const points = values.map((value, n) => `${(n * step).toFixed(1)},${height(value).toFixed(1)}`).join(" ");
  return svg("svg", { class: "plot", viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("polygon", { class: "area", points: `0,${H} ${points} ${W},${H}` }), svg("polyline", { points }));
};

// A bar for each value, the axis named at its quarters.
export const barsOf = (values, label, name) => {
  const top = Math.max(...values, 1);
  const step = W / values.length;
  return svg("svg", { class: "plot bars", viewBox: `0 -6 ${W} ${H + 20}`, role: "img", "aria-label": label },
    svg("line", { x2: W, y1: H + 0.5, y2: H + 0.5 }), svg("text", { x: W, y: 0, class: "top" }, `most: ${number(top)}`),
    values.map((value, n) => svg("rect", {
      x: (n * step + 1).toFixed(1), width: (step - 2).toFixed(1), rx: 1.5,
      y: (H - (value / top) * (H - 4)).toFixed(1), height: ((value / top) * (H - 4)).toFixed(1),
    }, svg("title", {}, `${name(n)}: ${number(value)}`))),
    values.map((_, n) => n % 6 === 0 && svg("text", { x: (n * step + 1).toFixed(1), y: H + 10 }, name(n))));
};
