// How much of a quota is used: figures, and a bar under them.

import { el, visuallyHidden } from "./dom.js";

const HIGH = 0.75;
const FULL = 0.9;

/** The bar only repeats the figures, so that programs which read the page aloud pass it by. */
export function quotaFigure(quota) {
  if (!quota) return [el("span", { class: "none", "aria-hidden": "true" }, "–"), visuallyHidden("no quota")];
  const bar = el("span", { class: `quota-bar ${level(quota.ratio)}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", `${Math.min(quota.ratio, 1) * 100}%`);
  const figures = el(
    "span",
    { class: "quota-figures", title: `${Math.round(quota.ratio * 100)} % used` },
    el("b", {}, readable(quota.used)),
    ` / ${readable(quota.hard)}`,
  );
  return [figures, bar];
}

export function quotaOf(quotas, resource) {
  return quotas.find((quota) => quota.resource === resource);
}

/** "2800m" is 2.8: thousandths are for less than one. */
function readable(quantity) {
  return /^\d{4,}m$/.test(quantity) ? String(parseInt(quantity, 10) / 1000) : quantity;
}

function level(ratio) {
  if (ratio >= FULL) return "is-full";
  return ratio >= HIGH ? "is-high" : "is-fine";
}
