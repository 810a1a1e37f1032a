// The list of tenants: summary, search, filters, and a table that updates itself.

import { COLUMNS } from "./columns.js";
import { columnHead, tile, toolbar } from "./controls.js";
import { el } from "../shared/dom.js";
import { emptyNotice, loadingNotice, noMatchNotice, problemNotice } from "../shared/notices.js";
import { addressOf, isNarrowed, matcher, queryFrom, sorted } from "./query.js";
import { Row } from "./row.js";
import { GROUPS } from "../shared/state.js";
import { tenants } from "../shared/tenant-rows.js";

/** Show the list. The row of `previousTenant`, whose page was shown before, gets the focus. */
export function showList(main, { previousTenant }) {
  const query = queryFrom(location.search);
  const tableRows = new Map();

  const tiles = GROUPS.map((group) => tile(group, () => changeQuery({ state: group.id })));
  const summary = el(
    "div",
    { class: "tiles", role: "group", "aria-label": "Tenants by state" },
    tiles.map(({ element }) => element),
  );
  const tools = toolbar({
    onText: (text) => changeQuery({ text }),
    onPlan: (plan) => changeQuery({ plan }),
    onClear: clear,
  });
  const heads = COLUMNS.map((column) => columnHead(column, () => sortBy(column.id)));
  const body = el("tbody", { role: "rowgroup" });
  const table = el(
    "table",
    { role: "table", class: "tenants", "aria-labelledby": "title" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map(({ element }) => element))),
    body,
  );
  const frame = el("div", { class: "table-frame" }, table);
  const notice = el("div");
  const title = el("h1", { id: "title", tabindex: "-1" }, "Tenants");
  main.replaceChildren(title, summary, tools.element, notice, frame);
  document.title = "Tenants";

  function changeQuery(change) {
    Object.assign(query, change);
    history.replaceState(history.state, "", addressOf(query));
    filter();
  }

  function clear() {
    changeQuery({ text: "", state: "all", plan: "" });
    tools.search.focus();
  }

  function sortBy(id) {
    changeQuery({ sort: id, isDescending: query.sort === id && !query.isDescending });
    putInOrder(body, sorted(tableRows.values(), query));
  }

  function arrange() {
    putInOrder(body, sorted(tableRows.values(), query));
    filter();
  }

  /** Rows that do not match are hidden, and keep their elements. */
  function filter() {
    const isMatch = matcher(query);
    let shown = 0;
    for (const tableRow of tableRows.values()) {
      const isShown = isMatch(tableRow);
      if (tableRow.element.hidden === isShown) tableRow.element.hidden = !isShown;
      shown += isShown;
    }
    updateControls(shown);
  }

  function updateControls(shown) {
    const rows = [...tableRows.values()].map((tableRow) => tableRow.row);
    const all = rows.length;
    GROUPS.forEach(({ id, matches }, index) => tiles[index].update(rows.filter(matches).length, query.state === id));
    COLUMNS.forEach(({ id }, index) => heads[index].update(query.sort === id, query.isDescending));
    const plans = new Set(rows.map((row) => row.plan));
    tools.update({ query, plans, shown, all, isNarrowed: isNarrowed(query) });
    summary.hidden = tools.element.hidden = all === 0;
    frame.hidden = shown === 0;
    notice.replaceChildren(...noticeFor(all, shown));
  }

  function noticeFor(all, shown) {
    if (tenants.problem && !tenants.isLive) {
      return [problemNotice("Cannot show the tenants", tenants.problem)];
    }
    if (!tenants.isLoaded) return [loadingNotice("Loading tenants…")];
    if (all === 0) return [emptyNotice()];
    return shown === 0 ? [noMatchNotice(clear)] : [];
  }

  function put(row, isUpdate) {
    const tableRow = tableRows.get(row.name);
    const isChanged = tableRow ? tableRow.update(row) : tableRows.set(row.name, new Row(row));
    if (isUpdate && isChanged) tableRows.get(row.name).highlight();
  }

  function remove(name) {
    tableRows.get(name)?.element.remove();
    tableRows.delete(name);
  }

  function putAll() {
    const isUpdate = tableRows.size > 0;
    for (const name of [...tableRows.keys()]) if (!tenants.rows.has(name)) remove(name);
    for (const row of tenants.rows.values()) put(row, isUpdate);
    arrange();
  }

  // The table is sorted at most once per frame, however many tenants change.
  let frameRequest = 0;
  function arrangeSoon() {
    frameRequest ||= requestAnimationFrame(() => {
      frameRequest = 0;
      arrange();
    });
  }

  const unsubscribe = tenants.subscribe((event) => {
    if (event.kind === "loaded") putAll();
    if (event.kind === "changed") put(event.row, true);
    if (event.kind === "gone") remove(event.name);
    arrangeSoon();
  });
  const removeKeyListener = onSlash(() => tools.search.select());

  putAll();
  tableRows.get(previousTenant)?.element.querySelector("a").focus({ preventScroll: true });
  return () => {
    unsubscribe();
    removeKeyListener();
  };
}

/** Moves only rows whose position has changed. A row that is not moved keeps its focus. */
function putInOrder(body, tableRows) {
  let next = body.firstElementChild;
  for (const { element } of tableRows) {
    if (element === next) next = next.nextElementSibling;
    else body.insertBefore(element, next);
  }
}

function onSlash(handler) {
  const onKey = (event) => {
    const isTyping = event.target.closest("input, select, textarea");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    handler();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
