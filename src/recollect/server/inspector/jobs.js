// Background work: what waits, runs, or was given up.

import { get, post } from "./api.js";
import { button, empty, h, named, number, plural, show, status, when } from "./dom.js";

export const title = "Jobs";

const SHOWN = 200;
const MOST = 1_000;
const NAMES = { dead: "given up" };

export const view = async ({ signal }) => {
  const state = h("select", { id: "state" }, h("option", { value: "" }, "All"),
    ["waiting", "running", "dead"].map((name) => h("option", { value: name }, NAMES[name] ?? name)));
  const place = h("div");

  const draw = async () => {
    const { items, after } = await get("/jobs", { state: state.value, limit: MOST }, signal);
    const more = items.length - SHOWN;
    show(place, items.length
      ? h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Jobs" }, h("table", {},
        h("thead", {}, h("tr", {}, ["Kind", "State", "Attempts", "Due", "Conversation", "Error"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, items.slice(0, SHOWN).map((job) => h("tr", {},
          h("td", {}, job.kind), h("td", {}, h("span", { class: `state ${job.state}` }, NAMES[job.state] ?? job.state)), h("td", { class: "num" }, job.attempts),
          h("td", {}, job.state === "waiting" ? when(job.due) : ""), h("td", {}, [job.scope?.session, job.scope?.user].filter(Boolean).map(named).join(" · ")), h("td", {}, job.error ?? ""))))))
      : state.value ? empty(`None are ${NAMES[state.value] ?? state.value}`)
      : empty("All is done", "Facts, summaries and habits are learned in the background; nothing waits now."),
    more > 0 && h("p", { class: "hint" }, `The oldest ${number(SHOWN)} are shown; there are ${number(more)}${after ? " or more" : ""} others.`));
  };
  const again = () => draw().then(() => status(plural(place.querySelectorAll("tbody tr").length, "job")))
    .catch((error) => signal.aborted || status(error));
  const revive = () => post("/jobs/revive", {}).then(({ revived }) => again().then(() => status(`${plural(revived, "job")} revived.`)))
    .catch((error) => status(error));
  state.addEventListener("change", again);
  await draw();
  return h("section", { "aria-label": "Jobs" },
    h("div", { class: "bar" }, h("label", { for: "state" }, "State"), state, button("Look again", again, { class: "quiet" }),
      button("Revive what was given up", revive, { class: "quiet" })), place);
};
