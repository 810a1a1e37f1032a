// Notices that replace content: no tenants, no matches, not found, not reachable.

import { el, icon } from "./dom.js";

export function emptyNotice() {
  const command = el("pre", {}, el("code", {}, "kubectl apply -f examples/simple.yaml"));
  return notice("all", "No tenants yet", "Create the first one; it appears here automatically.", command);
}

export function noMatchNotice(onclick) {
  const clear = el("button", { type: "button", onclick }, "Clear filters");
  return notice("search", "No tenants match", "No tenant matches the search and the filters.", clear);
}

export function problemNotice(title, problem) {
  return notice("failed", title, problem.message);
}

export function unknownTenantNotice(name) {
  const text = "It may have been deleted, or its name may be misspelled.";
  return notice("unknown", `There is no tenant ${name}`, text, backLink());
}

export function deletedTenantNotice(name) {
  return notice("terminating", `Tenant ${name} was deleted`, "It was deleted while this page was open.", backLink());
}

export function unknownPageNotice() {
  return notice("unknown", "Page not found", "There is no page at this address.", backLink());
}

export function loadingNotice(text) {
  return el("p", { class: "loading", role: "status" }, text);
}

function backLink() {
  return el("a", { href: "/", class: "button" }, "All tenants");
}

function notice(shape, title, text, ...rest) {
  return el("div", { class: `notice is-${shape}` }, icon(shape), el("h2", {}, title), el("p", {}, text), ...rest);
}
