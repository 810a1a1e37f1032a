// The spec of a tenant as YAML, and the settings that come from its plan.

import { el } from "../shared/dom.js";
import { yamlText } from "../history/yaml.js";

export function spec({ spec: fields, plan, planDefaults }) {
  return [
    block("Set in the Tenant", fields),
    planDefaults
      ? block(`From plan ${plan}`, planDefaults, "The Tenant does not set these fields, so the values of the plan apply.")
      : el("p", { class: "muted" }, "The values of the plan are unknown: the spec is invalid, or the plan does not exist."),
  ];
}

/** The block is focusable, because it may scroll. */
function block(title, fields, note = "") {
  const text = Object.keys(fields).length ? yamlText(fields) : "{}";
  return el(
    "div",
    { class: "spec" },
    el("h3", {}, title),
    note && el("p", { class: "muted" }, note),
    el("pre", { tabindex: "0", role: "group", "aria-label": title }, text),
  );
}
