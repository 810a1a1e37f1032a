// The section with the AI sessions of a tenant.

import { el } from "../shared/dom.js";
import { pill } from "../shared/state.js";
import { ago } from "../shared/time.js";

// The icon and the colour of each phase.
const PILLS = {
  Pending: "pending",
  Running: "running",
  Completed: "active",
  Failed: "failed",
  Terminated: "terminating",
};
const TITLES = ["Session", "Phase", "Reason", "Type", "Model", "Created"];

/** `rows` are the first sessions of `count`: sessions that wait, then those that run, then those that ended. */
export function sessions({ rows, count }) {
  if (!rows.length) return [el("p", { class: "muted" }, "No AI sessions.")];
  return [
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Sessions table" },
      el(
        "table",
        { class: "plain sessions" },
        el("thead", {}, el("tr", {}, TITLES.map((title) => el("th", { scope: "col" }, title)))),
        el("tbody", {}, rows.map(row)),
      ),
    ),
    count > rows.length && el("p", { class: "muted" }, `The first ${rows.length} of ${count} sessions.`),
  ].filter(Boolean);
}

function row(session) {
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("b", {}, session.name), el("code", {}, session.namespace)),
    el("td", {}, pill(PILLS[session.phase] ?? "unknown", session.phase)),
    el("td", { class: "session-reason" }, session.reason && el("b", {}, session.reason), session.message),
    el("td", {}, session.sessionType),
    el("td", {}, session.aiModel || "not selected"),
    el("td", {}, ago(session.created)),
  );
}
