// The query of the list consists of search, state, plan and order. The address contains the query, so that a link
// shows the same list.

import { COLUMNS } from "./columns.js";
import { GROUPS } from "../shared/state.js";

const BY_NAME = new Intl.Collator("en", { numeric: true });
// The most urgent tenants come first.
const DEFAULT_SORT = "phase";

export function queryFrom(address) {
  const parameters = new URLSearchParams(address);
  const choice = (name, choices, fallback) => {
    const value = parameters.get(name);
    return choices.includes(value) ? value : fallback;
  };
  return {
    text: parameters.get("q") ?? "",
    state: choice("state", GROUPS.map(({ id }) => id), "all"),
    plan: parameters.get("plan") ?? "",
    sort: choice("sort", COLUMNS.map(({ id }) => id), DEFAULT_SORT),
    isDescending: parameters.get("order") === "desc",
  };
}

export function addressOf(query) {
  const parameters = new URLSearchParams();
  if (query.text) parameters.set("q", query.text);
  if (query.state !== "all") parameters.set("state", query.state);
  if (query.plan) parameters.set("plan", query.plan);
  if (query.sort !== DEFAULT_SORT) parameters.set("sort", query.sort);
  if (query.isDescending) parameters.set("order", "desc");
  return parameters.size ? `/?${parameters}` : "/";
}

export function isNarrowed(query) {
  return Boolean(query.text || query.plan) || query.state !== "all";
}

/** A function that tells whether a row matches the query. The row's text must contain every word of the search. */
export function matcher(query) {
  const { matches } = GROUPS.find(({ id }) => id === query.state);
  const words = query.text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ row, text }) =>
    matches(row) && (!query.plan || row.plan === query.plan) && words.every((word) => text.includes(word));
}

/** The rows in the order of the query. Rows with equal values are sorted by name. */
export function sorted(tableRows, { sort, isDescending }) {
  const value = COLUMNS.find(({ id }) => id === sort).sort;
  const sign = isDescending ? -1 : 1;
  const keyed = [...tableRows].map((tableRow) => [value(tableRow.row), tableRow]);
  keyed.sort(([one, first], [other, second]) => {
    const order = typeof one === "string" ? BY_NAME.compare(one, other) : one - other;
    return sign * order || BY_NAME.compare(first.row.name, second.row.name);
  });
  return keyed.map(([, tableRow]) => tableRow);
}
