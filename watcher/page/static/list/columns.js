// The columns of the list: their cells, sort values, and the data that a cell depends on.

import { el } from "../shared/dom.js";
import { quotaFigure, quotaOf } from "../shared/quota.js";
import { flagPills, flagsOf, phasePill, urgency } from "../shared/state.js";
import { ago } from "../shared/time.js";

export const COLUMNS = [
  { id: "name", title: "Tenant", sort: (row) => row.name, inputs: (row) => row.displayName, show: nameCell },
  {
    id: "phase",
    title: "Status",
    sort: urgency,
    inputs: (row) => [row.phase, row.reason, row.message, flagsOf(row).map(({ id }) => id)],
    show: phaseCell,
  },
  {
    id: "plan",
    title: "Plan",
    sort: (row) => row.plan,
    inputs: (row) => row.plan,
    show: (row) => [el("span", { class: "plan" }, row.plan)],
  },
  {
    id: "namespaces",
    title: "Namespaces",
    sort: (row) => row.namespaces,
    inputs: (row) => row.namespaces,
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
    inputs: (row) => quotaOf(row.quotas, id),
    show: (row) => quotaFigure(quotaOf(row.quotas, id)),
  })),
  {
    id: "updated",
    title: "Last update",
    // The value is negative, so that ascending order shows the newest update first.
    sort: (row) => -Date.parse(row.lastUpdate?.time ?? row.created),
    inputs: (row) => row.lastUpdate,
    show: updateCell,
  },
];

/** The text of a row that the search looks for words in. */
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
