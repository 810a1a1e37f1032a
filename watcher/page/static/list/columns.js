// The columns of the list: what each shows of a row, what it sorts by, and when its cell is made anew.

import { el } from "../shared/dom.js";
import { quotaFigure, quotaOf } from "../shared/quota.js";
import { flagPills, flagsOf, phasePill, urgency } from "../shared/state.js";
import { ago } from "../shared/time.js";

export const COLUMNS = [
  { id: "name", title: "Tenant", sort: (row) => row.name, facts: (row) => row.displayName, show: nameCell },
  {
    id: "phase",
    title: "Status",
    sort: urgency,
    facts: (row) => [row.phase, row.reason, row.message, row.isDrifted, row.isPaused, row.isCordoned],
    show: phaseCell,
  },
  {
    id: "plan",
    title: "Plan",
    sort: (row) => row.plan,
    facts: (row) => row.plan,
    show: (row) => [el("span", { class: "plan" }, row.plan)],
  },
  {
    id: "namespaces",
    title: "Namespaces",
    sort: (row) => row.namespaces,
    facts: (row) => row.namespaces,
    show: (row) => [String(row.namespaces)],
  },
  ...[
    ["cpu", "CPU"],
    ["memory", "Memory"],
    ["storage", "Storage"],
    ["pods", "Pods"],
  ].map(([id, title]) => ({
    id,
    title,
    isQuota: true,
    sort: (row) => quotaOf(row.quotas, id)?.ratio ?? -1,
    facts: (row) => quotaOf(row.quotas, id),
    show: (row) => quotaFigure(quotaOf(row.quotas, id)),
  })),
  {
    id: "updated",
    title: "Last update",
    // The newest first, as times are read.
    sort: (row) => -Date.parse(row.lastUpdate?.time ?? row.created),
    facts: (row) => row.lastUpdate,
    show: updateCell,
  },
];

/** What the search looks through. */
export function searchText(row) {
  const flags = flagsOf(row).map(({ word }) => word);
  return [row.name, row.displayName, row.plan, row.phase, row.reason, ...flags].join(" ").toLowerCase();
}

function nameCell(row) {
  return [
    el("a", { href: `/tenants/${encodeURIComponent(row.name)}`, class: "name" }, row.name),
    row.displayName && el("span", { class: "display-name" }, row.displayName),
  ];
}

function phaseCell(row) {
  return [
    el("span", { class: "pills" }, phasePill(row), flagPills(row)),
    row.reason && el("span", { class: "why", title: row.message }, el("b", {}, row.reason), ` ${row.message}`),
  ];
}

function updateCell(row) {
  const last = row.lastUpdate;
  if (!last) return [el("span", { class: "none" }, "none yet")];
  const isFailed = last.result === "failed";
  return [
    el("span", { class: "when" }, last.time && ago(last.time), isFailed && el("b", { class: "bad" }, "failed")),
    el("span", { class: "cause", title: last.message }, last.message),
  ];
}
