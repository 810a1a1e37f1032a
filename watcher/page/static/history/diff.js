// What changed, object by object and field by field, as lines with − and +.

import { counted, el, visuallyHidden } from "../shared/dom.js";
import { yamlText } from "./yaml.js";

const OPERATIONS = [
  ["create", "created", "+"],
  ["update", "changed", "±"],
  ["delete", "deleted", "−"],
  ["release", "released, and kept in the cluster", "→"],
];
// More lines than this are compared as two blocks: the exact way costs their product.
const MOST_LINES = 400;

/** The objects of an update, grouped by what was done to them. */
export function changeList(changes) {
  return OPERATIONS.flatMap(([operation, word, sign]) => {
    const found = changes.filter((change) => change.operation === operation);
    if (!found.length) return [];
    return [
      el(
        "div",
        { class: `operation is-${operation}` },
        el(
          "p",
          { class: "operation-title" },
          el("span", { class: "sign", "aria-hidden": "true" }, sign),
          `${counted(found.length, "object")} ${word}`,
        ),
        el("ul", { class: "objects" }, found.map(objectChange)),
      ),
    ];
  });
}

function objectChange(change) {
  const place = change.namespace ? `${change.namespace}/${change.name}` : change.name;
  const title = el("p", { class: "object" }, el("span", { class: "kind" }, change.kind), " ", el("code", {}, place));
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

/** Two texts as one: what left, what came, and what stayed between them. It may scroll, so it takes focus. */
export function diffBlock(title, before, after) {
  const lines = lineDiff(before, after).map(([sign, line]) => {
    if (sign === " ") return el("span", { class: "same" }, `  ${line}`);
    return sign === "-"
      ? el("del", {}, visuallyHidden("before: "), `− ${line}`)
      : el("ins", {}, visuallyHidden("after: "), `+ ${line}`);
  });
  return el("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": title }, lines);
}

/** Of a field that is not there: none. */
export function linesOf(value) {
  return value == null ? [] : yamlText(value).split("\n");
}

/** The shortest way from one list of lines to the other, by their longest common part. */
function lineDiff(before, after) {
  if (before.length > MOST_LINES || after.length > MOST_LINES) {
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
    const [isLeft, isRight] = [i < before.length, j < after.length];
    if (isLeft && isRight && before[i] === after[j]) lines.push([" ", before[i++], j++]);
    else if (isLeft && (!isRight || common[i + 1][j] >= common[i][j + 1])) lines.push(["-", before[i++]]);
    else lines.push(["+", after[j++]]);
  }
  return lines;
}
