// A tenant's state in words, shapes and colours: its phase, what sets it apart, and what goes first.

import { el, icon } from "./dom.js";

// By urgency: in this order a sorted list shows them.
const PHASES = ["Failed", "Pending", "Terminating", "Active"];
const FLAGS = [
  { id: "drifted", word: "Drifted", holds: (row) => row.isDrifted },
  { id: "paused", word: "Paused", holds: (row) => row.isPaused },
  { id: "cordoned", word: "Cordoned", holds: (row) => row.isCordoned },
];

/** What the summary counts: its id is also the name of its shape. */
export const GROUPS = [
  { id: "all", word: "All tenants", holds: () => true },
  ...["Active", "Pending", "Failed", "Terminating"].map((phase) => ({
    id: phase.toLowerCase(),
    word: phase,
    holds: (row) => row.phase === phase,
  })),
  ...FLAGS,
];

export function phasePill(row) {
  return pill(row.phase.toLowerCase(), row.phase);
}

export function flagsOf(row) {
  return FLAGS.filter(({ holds }) => holds(row));
}

export function flagPills(row) {
  return flagsOf(row).map(({ id, word }) => pill(id, word));
}

export function pill(id, word) {
  return el("span", { class: `pill is-${id}` }, icon(id), word);
}

/** The smaller, the sooner it needs a look. */
export function urgency(row) {
  const isCalm = row.phase === "Active" && !flagsOf(row).length;
  return isCalm ? PHASES.length : PHASES.indexOf(row.phase);
}
