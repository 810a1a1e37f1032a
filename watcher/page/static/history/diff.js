// Changes by object and field, as lines with − and +.

import { countText, el, visuallyHidden } from "../shared/dom.js";
import { yamlText } from "./yaml.js";

const OPERATIONS = [
  ["create", "created", "+"],
  ["update", "changed", "±"],
  ["delete", "deleted", "−"],
  ["release", "released, and kept in the cluster", "→"],
];
// Longer texts are shown as a removed and an added block. The time for an exact comparison grows with the product of
// the lengths.
const MAX_LINES = 400;

/** The objects of an update, grouped by operation. */
export function changeList(changes) {
  return OPERATIONS.flatMap(([operation, word, sign]) => {
    const matching = changes.filter((change) => change.operation === operation);
    if (!matching.length) return [];
    return [
      el(
        "div",
        { class: `operation is-${operation}` },
        el(
          "p",
          { class: "operation-title" },
          el("span", { class: "sign", "aria-hidden": "true" }, sign),
          `${countText(matching.length, "object")} ${word}`,
        ),
        el("ul", { class: "objects" }, matching.map(objectChange)),
      ),
    ];
  });
}

function objectChange(change) {
  const name = change.namespace ? `${change.namespace}/${change.name}` : change.name;
  const title = el("p", { class: "object" }, el("span", { class: "kind" }, change.kind), " ", el("code", {}, name));
  return el("li", {}, title, change.fields.map(fieldChange));
}

function fieldChange({ path, before, after }) {
  return el(
    "div",
    { class: "field-change" },
    el("code", { class: "path" }, path),
    diffBlock(`Change of ${path}`, linesOf(before), linesOf(after)),
  );
}

/** Removed, added and unchanged lines. The block is focusable, because it may scroll. */
export function diffBlock(title, before, after) {
  const lines = lineDiff(before, after).map(([sign, line]) => {
    if (sign === " ") return el("span", { class: "same" }, `  ${line}`);
    return sign === "-"
      ? el("del", {}, visuallyHidden("before: "), `− ${line}`)
      : el("ins", {}, visuallyHidden("after: "), `+ ${line}`);
  });
  return el("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": title }, lines);
}

/** The lines of a value in YAML. A missing field has no lines. */
export function linesOf(value) {
  return value == null ? [] : yamlText(value).split("\n");
}

/** The shortest list of removed and added lines, by the longest common subsequence. */
function lineDiff(before, after) {
  if (before.length > MAX_LINES || after.length > MAX_LINES) {
    return [...before.map((line) => ["-", line]), ...after.map((line) => ["+", line])];
  }
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const isSame = before[i] === after[j];
      common[i][j] = isSame ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [hasBefore, hasAfter] = [i < before.length, j < after.length];
    if (hasBefore && hasAfter && before[i] === after[j]) lines.push([" ", before[i++], j++]);
    else if (hasBefore && (!hasAfter || common[i + 1][j] >= common[i][j + 1])) lines.push(["-", before[i++]]);
    else lines.push(["+", after[j++]]);
  }
  return lines;
}
