// A tenant's history shows its updates, newest first. Each entry opens to show its changes and its spec. A change of
// the spec that led to no update of its own is an entry without a number.

import { changeList, diffBlock, linesOf } from "./diff.js";
import { el, icon, visuallyHidden } from "../shared/dom.js";
import { pill } from "../shared/state.js";
import { ago, durationText } from "../shared/time.js";

const SIGNS = [
  ["create", "+", "created"],
  ["update", "±", "changed"],
  ["delete", "−", "deleted"],
  ["release", "→", "released"],
];
// The icon of each result. Any other result means that the update is running, or that the spec is not applied yet.
const RESULTS = { succeeded: "active", "no changes": "active", failed: "failed", rejected: "failed" };
const DRIFT = "drift:";

/** The list of updates. Open entries stay open when the list changes. */
export class History {
  constructor() {
    this.entries = new Map();
    this.element = el("ol", { class: "updates" });
  }

  update(updates) {
    updates.forEach((update, index) => {
      const json = JSON.stringify(update);
      const shownEntry = this.entries.get(keyOf(update));
      if (shownEntry?.json === json) return;
      const element = entry(update, updates.slice(index + 1).find(({ spec }) => spec)?.spec);
      if (shownEntry) element.firstChild.open = shownEntry.element.firstChild.open;
      this.entries.set(keyOf(update), { element, json });
    });
    const elements = updates.map((update) => this.entries.get(keyOf(update)).element);
    const shown = [...this.element.children];
    const isSame = elements.length === shown.length && elements.every((element, index) => element === shown[index]);
    if (!isSame) this.element.replaceChildren(...elements);
  }

  open(version) {
    const details = this.entries.get(version)?.element.firstChild;
    if (!details) return;
    details.open = true;
    details.querySelector(".update-head").focus({ preventScroll: true });
    details.scrollIntoView({ block: "start" });
  }
}

/** The number of the update. For an entry that is not an update, its cause, which names a generation. */
function keyOf({ version, cause }) {
  return version ?? cause;
}

/** The updates that repaired drift. */
export function driftUpdates(updates) {
  return updates.filter((update) => update.causeType === "drift");
}

export function driftText(update) {
  return update.cause.slice(DRIFT.length).trim();
}

function entry(update, specBefore) {
  const body = el("div", { class: "update-body" });
  // The body is created when the entry is first opened, because most entries of a long history are never opened.
  const fill = () => body.childElementCount || body.append(...entryBody(update, specBefore));
  const details = el("details", { ontoggle: fill }, entrySummary(update), body);
  return el("li", update.version ? { id: `update-${update.version}` } : {}, details);
}

function entrySummary(update) {
  // The name of an operation other than an update is shown, such as a refresh.
  const operation = ["update", "none"].includes(update.operation) ? "" : ` (${update.operation})`;
  return el(
    "summary",
    { class: "update-head" },
    icon("open"),
    el("span", { class: "version" }, update.version ? `#${update.version}` : ""),
    el("span", { class: "update-cause" }, update.cause, operation, messageLine(update)),
    el("span", { class: "update-counts" }, update.version ? changeCounts(update.counts) : ""),
    pill(resultIcon(update.result), update.result),
    el("span", { class: "update-when" }, ago(update.started), el("span", {}, runTime(update))),
    el("span", { class: "update-by", title: update.by }, update.by ? ["by ", el("b", {}, update.by)] : ""),
  );
}

function resultIcon(result) {
  return RESULTS[result] ?? (result.startsWith("in update ") ? "active" : "pending");
}

function messageLine({ message }) {
  return message ? el("span", { class: "update-message" }, message.split("\n")[0]) : "";
}

/** The numbers of changed objects. The watcher computes them from the changes that the entry shows. */
function changeCounts(counts) {
  const shown = SIGNS.filter(([operation]) => counts[operation]);
  if (!shown.length) return el("span", { class: "none" }, "no changes");
  return shown.map(([operation, sign, word]) =>
    el(
      "span",
      { class: `tally is-${operation}`, title: `${counts[operation]} ${word}` },
      el("span", { "aria-hidden": "true" }, sign),
      String(counts[operation]),
      visuallyHidden(` ${word}`),
    ),
  );
}

function entryBody(update, specBefore) {
  const changes = changeList(update.changes);
  return [
    ...facts(update),
    ...(update.version ? [el("h3", {}, "Changes")] : []),
    ...(changes.length ? changes : [el("p", { class: "muted" }, noChangesText(update))]),
    ...(update.spec ? specOf(update.spec, specBefore) : []),
  ];
}

function noChangesText(update) {
  if (!update.version) return "This change to the spec led to no update of its own.";
  return update.spec
    ? "No objects changed."
    : "The changes were not recorded, because the watcher did not run this update.";
}

/** The author, the message, the commit, and the reason why a spec is not applied. */
function facts({ by, message, commit, reason, detail }) {
  const rows = [
    ["Author", by],
    ["Message", message],
    ["Commit", commit],
    ["Reason", [reason, detail].filter(Boolean).join(": ")],
  ].filter(([, value]) => value);
  return rows.length ? [el("dl", { class: "update-facts" }, ...rows.map(fact))] : [];
}

function fact([label, value]) {
  return el("div", {}, el("dt", {}, label), el("dd", {}, value));
}

function specOf(spec, before) {
  const lines = linesOf(spec);
  const isChanged = before && JSON.stringify(before) !== JSON.stringify(spec);
  const block = diffBlock("Spec", isChanged ? linesOf(before) : lines, lines);
  if (isChanged) return [el("h3", {}, "Spec, compared with the previous update"), block];
  return [el("details", { class: "same-spec" }, el("summary", {}, "Spec"), block)];
}

// The duration of the update. A change to the spec without an update, such as a rejected one, has no duration.
function runTime(update) {
  return update.version == null ? "" : durationText(update.durationS);
}
