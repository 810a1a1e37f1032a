// Usage of a quota: numbers, and a bar below them.

import { el, visuallyHidden } from "./dom.js";

const HIGH = 0.75;
const FULL = 0.9;

/** Numbers and bar. Screen readers skip the bar, because the numbers say the same. */
export function quotaFigure(quota) {
  if (!quota) return [el("span", { class: "none", "aria-hidden": "true" }, "–"), visuallyHidden("no quota")];
  const bar = el("span", { class: `quota-bar ${level(quota.ratio)}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", `${Math.min(quota.ratio, 1) * 100}%`);
  const figures = el(
    "span",
    { class: "quota-figures", title: `${Math.round(quota.ratio * 100)} % used` },
    el("b", {}, readableQuantity(quota.used)),
    ` / ${readableQuantity(quota.hard)}`,
  );
  return [figures, bar];
}

export function quotaOf(quotas, resource) {
  return quotas.find((quota) => quota.resource === resource);
}

/** A quantity without milli units above one: "2800m" becomes "2.8". */
function readableQuantity(quantity) {
  return /^\d{4,}m$/.test(quantity) ? String(parseInt(quantity, 10) / 1000) : quantity;
}

function level(ratio) {
  if (ratio >= FULL) return "is-full";
  return ratio >= HIGH ? "is-high" : "is-fine";
}
