// What is asked of the list: search, state, plan and order. It stands in the address, so that a link, or the
// way back, shows the same list.

import { COLUMNS } from "./columns.js";
import { GROUPS } from "../shared/state.js";

const BY_NAME = new Intl.Collator("en", { numeric: true });
// What needs a look comes first.
const FIRST_SORT = "phase";

export function queryIn(address) {
  const parameters = new URLSearchParams(address);
  const known = (name, choices, otherwise) => {
    const given = parameters.get(name);
    return choices.includes(given) ? given : otherwise;
  };
  return {
    text: parameters.get("q") ?? "",
    state: known("state", GROUPS.map(({ id }) => id), "all"),
    plan: parameters.get("plan") ?? "",
    sort: known("sort", COLUMNS.map(({ id }) => id), FIRST_SORT),
    isDescending: parameters.get("order") === "desc",
  };
}

export function addressOf(query) {
  const parameters = new URLSearchParams();
  if (query.text) parameters.set("q", query.text);
  if (query.state !== "all") parameters.set("state", query.state);
  if (query.plan) parameters.set("plan", query.plan);
  if (query.sort !== FIRST_SORT) parameters.set("sort", query.sort);
  if (query.isDescending) parameters.set("order", "desc");
  return parameters.size ? `/?${parameters}` : "/";
}

export function isNarrowed(query) {
  return Boolean(query.text || query.plan) || query.state !== "all";
}

/** Whether a line is asked for: every word of the search has to be somewhere in it. */
export function matcher(query) {
  const { holds } = GROUPS.find(({ id }) => id === query.state);
  const words = query.text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ row, text }) =>
    holds(row) && (!query.plan || row.plan === query.plan) && words.every((word) => text.includes(word));
}

/** The lines in the order that is asked for; equal ones by name. */
export function sorted(lines, { sort, isDescending }) {
  const value = COLUMNS.find(({ id }) => id === sort).sort;
  const sign = isDescending ? -1 : 1;
  const keyed = [...lines].map((line) => [value(line.row), line]);
  keyed.sort(([one, first], [other, second]) => {
    const order = typeof one === "string" ? BY_NAME.compare(one, other) : one - other;
    return sign * order || BY_NAME.compare(first.row.name, second.row.name);
  });
  return keyed.map(([, line]) => line);
}
