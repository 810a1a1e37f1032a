// Controls of the list: one tile per state, search, plan, and column headers.

import { countText, el, icon } from "../shared/dom.js";

/** A button with the number of tenants in a state. If it is pressed, the list shows only these tenants. */
export function tile({ id, word }, onclick) {
  const number = el("span", { class: "number" }, "0");
  const label = el("span", { class: "word" }, icon(id), word);
  const element = el("button", { type: "button", class: `tile is-${id}`, onclick }, number, label);
  return {
    element,
    update(count, isPressed) {
      number.textContent = count.toLocaleString("en");
      element.classList.toggle("is-zero", count === 0);
      element.setAttribute("aria-pressed", String(isPressed));
    },
  };
}

export function toolbar({ onText, onPlan, onClear }) {
  const search = el("input", {
    ...{ id: "search", type: "search", autocomplete: "off", spellcheck: "false" },
    ...{ placeholder: "Search name, plan, reason…", "aria-keyshortcuts": "/" },
    oninput: () => onText(search.value),
  });
  const plan = el("select", { id: "plan", onchange: () => onPlan(plan.value) });
  const clear = el("button", { type: "button", class: "quiet", onclick: onClear }, "Clear filters");
  const count = el("p", { class: "count", role: "status" });
  const element = el(
    "div",
    { class: "toolbar", role: "search" },
    el(
      "div",
      { class: "field search" },
      el("label", { for: "search", class: "visually-hidden" }, "Search tenants"),
      icon("search"),
      search,
      el("kbd", { "aria-hidden": "true" }, "/"),
    ),
    el("div", { class: "field" }, el("label", { for: "plan" }, "Plan"), plan),
    clear,
    count,
  );
  return {
    element,
    search,
    update({ query, plans, shown, all, isNarrowed }) {
      if (search.value !== query.text) search.value = query.text;
      updatePlans(plan, plans, query.plan);
      count.textContent = `${isNarrowed ? `${shown.toLocaleString("en")} of ` : ""}${countText(all, "tenant")}`;
      clear.hidden = !isNarrowed;
    },
  };
}

export function columnHead({ id, title }, onclick) {
  const button = el("button", { type: "button", onclick }, title, icon("sort"));
  const element = el("th", { scope: "col", role: "columnheader", class: `col-${id}` }, button);
  return {
    element,
    update(isSorted, isDescending) {
      if (isSorted) element.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      else element.removeAttribute("aria-sort");
    },
  };
}

/** The selected plan remains an option, even if no tenant has it any more. */
function updatePlans(select, plans, selected) {
  const names = ["", ...[...new Set(selected ? [...plans, selected] : plans)].sort()];
  if (names.join("\n") !== [...select.options].map((option) => option.value).join("\n")) {
    select.replaceChildren(...names.map((name) => el("option", { value: name }, name || "All plans")));
  }
  select.value = selected;
}
