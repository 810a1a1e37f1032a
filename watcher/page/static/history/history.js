// A tenant's history shows its updates, newest first. Each entry opens to show its changes and its spec.

import { changeList, diffBlock, linesOf } from "./diff.js";
import { el, icon, visuallyHidden } from "../shared/dom.js";
import { pill } from "../shared/state.js";
import { ago, durationText } from "../shared/time.js";

const SIGNS = [
  ["create", "+", "created"],
  ["update", "±", "changed"],
  ["replace", "⇄", "replaced"],
  ["delete", "−", "deleted"],
  ["release", "→", "released"],
];
// The icon of each result. Any other result means that the update is running.
const RESULTS = { succeeded: "active", failed: "failed" };
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
      const shownEntry = this.entries.get(update.version);
      if (shownEntry?.json === json) return;
      const element = entry(update, updates[index + 1]?.spec);
      if (shownEntry) element.firstChild.open = shownEntry.element.firstChild.open;
      this.entries.set(update.version, { element, json });
    });
    const elements = updates.map(({ version }) => this.entries.get(version).element);
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
  return el("li", { id: `update-${update.version}` }, details);
}

function entrySummary(update) {
  // The name of an operation other than an update is shown, such as a refresh.
  const operation = update.operation === "update" ? "" : ` (${update.operation})`;
  return el(
    "summary",
    { class: "update-head" },
    icon("open"),
    el("span", { class: "version" }, `#${update.version}`),
    el("span", { class: "update-cause" }, update.cause, operation),
    el("span", { class: "update-counts" }, changeCounts(update)),
    pill(RESULTS[update.result] ?? "pending", update.result),
    el("span", { class: "update-when" }, ago(update.started), el("span", {}, durationText(update.durationS))),
    el("span", { class: "update-by", title: update.by }, update.by ? ["by ", el("b", {}, update.by)] : ""),
  );
}

/**
 * The numbers of changed objects, as Pulumi counted them. Pulumi does not count objects that the watcher repaired
 * directly. If Pulumi counted no changes, the recorded changes are counted.
 */
function changeCounts({ counts, changes }) {
  const hasCounts = SIGNS.some(([operation]) => counts[operation]);
  const shownCounts = hasCounts ? counts : recordedCounts(changes);
  const shown = SIGNS.filter(([operation]) => shownCounts[operation]);
  if (!shown.length) return el("span", { class: "none" }, "no changes");
  return shown.map(([operation, sign, word]) =>
    el(
      "span",
      { class: `tally is-${operation}`, title: `${shownCounts[operation]} ${word}` },
      el("span", { "aria-hidden": "true" }, sign),
      String(shownCounts[operation]),
      visuallyHidden(` ${word}`),
    ),
  );
}

function recordedCounts(changes) {
  const counts = {};
  for (const { operation } of changes) counts[operation] = (counts[operation] ?? 0) + 1;
  return counts;
}

function entryBody(update, specBefore) {
  const changes = changeList(update.changes);
  const text = update.spec
    ? "No objects changed."
    : "The changes were not recorded, because the watcher did not run this update.";
  return [
    el("h3", {}, "Changes"),
    ...(changes.length ? changes : [el("p", { class: "muted" }, text)]),
    ...(update.spec ? specOf(update.spec, specBefore) : []),
  ];
}

function specOf(spec, before) {
  const lines = linesOf(spec);
  const isChanged = before && JSON.stringify(before) !== JSON.stringify(spec);
  const block = diffBlock("Spec", isChanged ? linesOf(before) : lines, lines);
  if (isChanged) return [el("h3", {}, "Spec, compared with the previous update"), block];
  return [el("details", { class: "same-spec" }, el("summary", {}, "Spec"), block)];
}
