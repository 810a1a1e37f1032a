// What stands where there is nothing else to show: nothing yet, nothing found, not there, not reachable.

import { el, icon } from "./dom.js";

export function emptyNotice() {
  const command = el("pre", {}, el("code", {}, "kubectl apply -f examples/simple.yaml"));
  return notice("all", "No tenants yet", "Make the first one; it appears here by itself.", command);
}

export function nothingFoundNotice(onclick) {
  const clear = el("button", { type: "button", onclick }, "Clear filters");
  return notice("search", "No tenant fits", "None has all of what is searched for.", clear);
}

export function problemNotice(title, problem) {
  return notice("failed", title, problem.message);
}

export function unknownTenantNotice(name) {
  const text = "It may have been deleted, or its name may be misspelt.";
  return notice("unknown", `There is no tenant ${name}`, text, backLink());
}

export function goneTenantNotice(name) {
  return notice("terminating", `Tenant ${name} is gone`, "It was deleted while this page was open.", backLink());
}

export function unknownPageNotice() {
  return notice("unknown", "There is no such page", "The address leads nowhere here.", backLink());
}

export function loadingNotice(text) {
  return el("p", { class: "loading", role: "status" }, text);
}

function backLink() {
  return el("a", { href: "/", class: "button" }, "All tenants");
}

function notice(shape, title, text, ...more) {
  return el("div", { class: `notice is-${shape}` }, icon(shape), el("h2", {}, title), el("p", {}, text), ...more);
}
