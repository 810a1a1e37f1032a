// The sections of a tenant's page. Each function creates the elements of one section from its data.

import { changeList } from "../history/diff.js";
import { el, icon, visuallyHidden } from "../shared/dom.js";
import { driftText, driftUpdates } from "../history/history.js";
import { networkDiagram } from "./network.js";
import { quotaFigure, quotaOf } from "../shared/quota.js";
import { flagPills, phasePill, pill } from "../shared/state.js";
import { ago } from "../shared/time.js";

const RESOURCES = [
  ["cpu", "CPU"],
  ["memory", "Memory"],
  ["storage", "Storage"],
  ["pods", "Pods"],
];

export function head(row) {
  const facts = [
    ["Plan", el("span", { class: "plan" }, row.plan)],
    ["Namespaces", String(row.namespaces)],
    ["Created", ago(row.created)],
    ["Last update", row.lastUpdate?.time ? ago(row.lastUpdate.time) : row.lastUpdate?.result ?? "none yet"],
    row.inUse.cpu && ["In use", `${row.inUse.cpu} CPU, ${row.inUse.memory} memory`],
    ["API", el("code", {}, row.apiVersion)],
  ].filter(Boolean);
  return [
    row.displayName && el("p", { class: "lead" }, row.displayName),
    el("p", { class: "pills" }, phasePill(row), flagPills(row)),
    row.reason && banner(row),
    el("dl", { class: "facts" }, facts.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value)))),
  ].filter(Boolean);
}

function banner({ phase, reason, message }) {
  return el("p", { class: `banner is-${phase.toLowerCase()}` }, el("b", {}, reason), el("span", {}, message));
}

export function namespaces(views) {
  if (!views.length) return [mutedText("No namespaces yet.")];
  return views.map((namespace) =>
    el(
      "article",
      { class: "namespace" },
      el(
        "div",
        { class: "namespace-head" },
        el("h3", {}, el("code", {}, namespace.name)),
        namespace.purpose && el("span", { class: "purpose" }, namespace.purpose),
        namespace.isReady ? pill("active", "Ready") : pill("pending", "Not ready"),
      ),
      el(
        "dl",
        { class: "quotas" },
        RESOURCES.map(([id, title]) => {
          const figure = quotaFigure(quotaOf(namespace.quotas, id));
          return el("div", {}, el("dt", {}, title), el("dd", {}, figure));
        }),
      ),
    ),
  );
}

export function conditions(list) {
  if (!list.length) return [mutedText("None yet: the watcher has not reconciled this tenant.")];
  return [
    el(
      "ul",
      { class: "conditions" },
      list.map((condition) =>
        el(
          "li",
          {},
          conditionPill(condition),
          el(
            "div",
            {},
            el(
              "p",
              {},
              ago(condition.lastTransitionTime),
              el("b", {}, condition.type),
              el("span", { class: "reason" }, condition.reason),
            ),
            condition.message && el("p", { class: "muted" }, condition.message),
          ),
        ),
      ),
    ),
  ];
}

export function access({ access: subjects, namespaceCount }) {
  if (!subjects.length) return [mutedText("Nobody has a role in the tenant's namespaces.")];
  const row = ({ kind, name, role, namespaces: names }) =>
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("span", { class: "who", title: kind }, icon(kind.toLowerCase()), name, visuallyHidden(`(${kind})`)),
      ),
      el("td", {}, el("span", { class: `role is-${role}` }, role)),
      el("td", { class: "places", title: names.join(", ") }, namespacesText(names, namespaceCount)),
    );
  return [
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Access table" },
      el(
        "table",
        { class: "plain" },
        el("thead", {}, el("tr", {}, ["Who", "Role", "Where"].map((title) => el("th", { scope: "col" }, title)))),
        el("tbody", {}, subjects.map(row)),
      ),
    ),
  ];
}

/** Changes of the spec or the plan that are not applied yet. `changes` is null if they are unknown. */
export function pending({ changes, isApplied, conditions: list }) {
  if (isApplied) return [el("p", { class: "calm" }, pill("active", "None")), mutedText("The spec is applied.")];
  const { reason, message } = list.find(({ type }) => type === "SpecApplied") ?? {};
  return [
    el("p", { class: "calm" }, pill("unapplied", "Spec not applied")),
    reason && el("p", {}, el("b", {}, reason), ` ${message}`),
    changes?.length > 0 &&
      el("div", { class: "changes-now" }, mutedText("Changes that are not applied yet:"), changeList(changes)),
    changes === null && mutedText("The changes of the objects are unknown."),
  ].filter(Boolean);
}

/** Manual changes. `now` is null if they are unknown. */
export function drift({ now, isDrifted, updates }, onOpen) {
  const repairs = driftUpdates(updates);
  const hasDrift = now?.length > 0 || isDrifted;
  const calm = now === null ? pill("unknown", "Unknown") : pill("active", "None now");
  return [
    el("p", { class: "calm" }, hasDrift ? pill("drifted", "Drifted now") : calm),
    now?.length > 0 &&
      el("div", { class: "changes-now" }, mutedText("Changes that repair it:"), changeList(now)),
    repairs.length
      ? el("ol", { class: "drift-log", "aria-label": "Drift log" }, repairs.map((update) => repair(update, onOpen)))
      : el("p", { class: "muted" }, "No drift was repaired yet."),
  ].filter(Boolean);
}

export function network({ network: graph, name }) {
  return [networkDiagram(graph, name)];
}

function repair(update, onOpen) {
  const version = `#${update.version}`;
  return el(
    "li",
    {},
    el("p", {}, driftText(update)),
    el(
      "p",
      { class: "muted" },
      update.result === "succeeded" ? "repaired " : `${update.result} `,
      ago(update.started),
      " in ",
      el("button", { type: "button", class: "link", onclick: () => onOpen(update.version) }, `update ${version}`),
    ),
  );
}

function namespacesText(names, count) {
  const isAll = count > 1 && names.length === count;
  return isAll ? `all ${count} namespaces` : names.map((name) => el("code", {}, name));
}

/** Drifted is the only condition whose good status is False. */
function conditionPill({ type, status }) {
  if (status === "Unknown") return pill("unknown", status);
  const isGood = (status === "True") !== (type === "Drifted");
  return pill(isGood ? "active" : "failed", status);
}

function mutedText(text) {
  return el("p", { class: "muted" }, text);
}
