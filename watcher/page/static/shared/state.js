// A tenant's state, which is its phase and its flags, as text, icon and colour.

import { el, icon } from "./dom.js";

// Sorted by urgency. This is the default order of the list.
const PHASES = ["Failed", "Pending", "Terminating", "Active"];
const FLAGS = [
  { id: "unapplied", word: "Not applied", matches: isHeldBack },
  { id: "drifted", word: "Drifted", matches: (row) => row.isDrifted },
  { id: "paused", word: "Paused", matches: (row) => row.isPaused },
  { id: "cordoned", word: "Cordoned", matches: (row) => row.isCordoned },
];

/** The groups of tenants that the summary counts. The id is also the name of the icon. */
export const GROUPS = [
  { id: "all", word: "All tenants", matches: () => true },
  ...["Active", "Pending", "Failed", "Terminating"].map((phase) => ({
    id: phase.toLowerCase(),
    word: phase,
    matches: (row) => row.phase === phase,
  })),
  ...FLAGS,
];

/** Whether the newest spec is not applied, because the tenant is paused or has failed. */
function isHeldBack(row) {
  return !row.isApplied && row.phase !== "Terminating" && (row.isPaused || row.phase === "Failed");
}

export function phasePill(row) {
  return pill(row.phase.toLowerCase(), row.phase);
}

export function flagsOf(row) {
  return FLAGS.filter(({ matches }) => matches(row));
}

export function flagPills(row) {
  return flagsOf(row).map(({ id, word }) => pill(id, word));
}

export function pill(id, word) {
  return el("span", { class: `pill is-${id}` }, icon(id), word);
}

/** A number to sort by. More urgent tenants have smaller numbers. */
export function urgency(row) {
  const isFine = row.phase === "Active" && !flagsOf(row).length;
  return isFine ? PHASES.length : PHASES.indexOf(row.phase);
}
