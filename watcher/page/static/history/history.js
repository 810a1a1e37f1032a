// A tenant's history: its updates, newest first. Each opens to what it changed and the spec it was made from.

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
// The shape for each; another one is not over yet.
const RESULTS = { succeeded: "active", failed: "failed" };
const DRIFT = "drift:";

/** The list, kept open where it was open when more entries come. */
export class History {
  constructor() {
    this.entries = new Map();
    this.element = el("ol", { class: "updates" });
  }

  update(updates) {
    updates.forEach((update, index) => {
      const facts = JSON.stringify(update);
      const known = this.entries.get(update.version);
      if (known?.facts === facts) return;
      const element = entry(update, updates[index + 1]?.spec);
      if (known) element.firstChild.open = known.element.firstChild.open;
      this.entries.set(update.version, { element, facts });
    });
    const wanted = updates.map(({ version }) => this.entries.get(version).element);
    const shown = [...this.element.children];
    const isSame = wanted.length === shown.length && wanted.every((element, index) => element === shown[index]);
    if (!isSame) this.element.replaceChildren(...wanted);
  }

  open(version) {
    const found = this.entries.get(version)?.element.firstChild;
    if (!found) return;
    found.open = true;
    found.querySelector(".update-head").focus({ preventScroll: true });
    found.scrollIntoView({ block: "start" });
  }
}

/** The entries that repaired something which was changed behind the watcher's back. */
export function driftUpdates(updates) {
  return updates.filter((update) => update.cause.startsWith(DRIFT));
}

export function driftText(update) {
  return update.cause.slice(DRIFT.length).trim();
}

function entry(update, specBefore) {
  const body = el("div", { class: "update-body" });
  // Made when it is first opened: a long history holds many diffs that nobody looks at.
  const fill = () => body.childElementCount || body.append(...entryBody(update, specBefore));
  const details = el("details", { ontoggle: fill }, entrySummary(update), body);
  return el("li", { id: `update-${update.version}` }, details);
}

function entrySummary(update) {
  // Most are: another one, such as a refresh, was run by hand.
  const other = update.operation === "update" ? "" : ` (${update.operation})`;
  return el(
    "summary",
    { class: "update-head" },
    icon("open"),
    el("span", { class: "version" }, `#${update.version}`),
    el("span", { class: "update-cause" }, update.cause, other),
    el("span", { class: "update-counts" }, tallies(update)),
    pill(RESULTS[update.result] ?? "pending", update.result),
    el("span", { class: "update-when" }, ago(update.started), el("span", {}, durationText(update.durationS))),
    el("span", { class: "update-by", title: update.by }, update.by ? ["by ", el("b", {}, update.by)] : ""),
  );
}

/** Pulumi's own count, which leaves out what the watcher itself put back at once; then its record counts. */
function tallies({ counts, changes }) {
  const isCounted = SIGNS.some(([operation]) => counts[operation]);
  const found = isCounted ? counts : recorded(changes);
  const shown = SIGNS.filter(([operation]) => found[operation]);
  if (!shown.length) return el("span", { class: "none" }, "no changes");
  return shown.map(([operation, sign, word]) =>
    el(
      "span",
      { class: `tally is-${operation}`, title: `${found[operation]} ${word}` },
      el("span", { "aria-hidden": "true" }, sign),
      String(found[operation]),
      visuallyHidden(` ${word}`),
    ),
  );
}

function recorded(changes) {
  const found = {};
  for (const { operation } of changes) found[operation] = (found[operation] ?? 0) + 1;
  return found;
}

function entryBody(update, specBefore) {
  const changes = changeList(update.changes);
  const told = update.spec
    ? "No object was changed."
    : "What it changed was not recorded: it was not made by the watcher.";
  return [
    el("h3", {}, "Changes"),
    ...(changes.length ? changes : [el("p", { class: "muted" }, told)]),
    ...(update.spec ? specOf(update.spec, specBefore) : []),
  ];
}

function specOf(spec, before) {
  const lines = linesOf(spec);
  const isChanged = before && JSON.stringify(before) !== JSON.stringify(spec);
  const block = diffBlock("Spec", isChanged ? linesOf(before) : lines, lines);
  if (isChanged) return [el("h3", {}, "Spec, compared with the update before"), block];
  return [el("details", { class: "same-spec" }, el("summary", {}, "Spec"), block)];
}
