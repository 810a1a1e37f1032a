// The list of tenants: summary, search, filters, and a table that keeps itself current.

import { COLUMNS } from "./columns.js";
import { columnHead, tile, toolbar } from "./controls.js";
import { el } from "../shared/dom.js";
import { emptyNotice, loadingNotice, nothingFoundNotice, problemNotice } from "../shared/notices.js";
import { addressOf, isNarrowed, matcher, queryIn, sorted } from "./query.js";
import { Row } from "./row.js";
import { GROUPS } from "../shared/state.js";
import { tenants } from "../shared/tenant-rows.js";

/** `cameFrom`: the tenant whose page was left for this one; its line is focused. */
export function showList(main, { cameFrom }) {
  const query = queryIn(location.search);
  const lines = new Map();

  const tiles = GROUPS.map((group) => tile(group, () => ask({ state: group.id })));
  const summary = el(
    "div",
    { class: "tiles", role: "group", "aria-label": "Tenants by state" },
    tiles.map(({ element }) => element),
  );
  const tools = toolbar({ onText: (text) => ask({ text }), onPlan: (plan) => ask({ plan }), onClear: clear });
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

  function ask(change) {
    Object.assign(query, change);
    history.replaceState(history.state, "", addressOf(query));
    filter();
  }

  function clear() {
    ask({ text: "", state: "all", plan: "" });
    tools.search.focus();
  }

  function sortBy(id) {
    ask({ sort: id, isDescending: query.sort === id && !query.isDescending });
    putInOrder(body, sorted(lines.values(), query));
  }

  function arrange() {
    putInOrder(body, sorted(lines.values(), query));
    filter();
  }

  /** Lines are only hidden, never made anew. */
  function filter() {
    const isAskedFor = matcher(query);
    let shown = 0;
    for (const line of lines.values()) {
      const isShown = isAskedFor(line);
      if (line.element.hidden === isShown) line.element.hidden = !isShown;
      shown += isShown;
    }
    tell(shown);
  }

  function tell(shown) {
    const rows = [...lines.values()].map((line) => line.row);
    const all = rows.length;
    GROUPS.forEach(({ id, holds }, index) => tiles[index].tell(rows.filter(holds).length, query.state === id));
    COLUMNS.forEach(({ id }, index) => heads[index].tell(query.sort === id, query.isDescending));
    const plans = new Set(rows.map((row) => row.plan));
    tools.tell({ query, plans, shown, all, isNarrowed: isNarrowed(query) });
    summary.hidden = tools.element.hidden = all === 0;
    frame.hidden = shown === 0;
    notice.replaceChildren(...noticeFor(all, shown));
  }

  function noticeFor(all, shown) {
    if (tenants.problem && !tenants.isLive) {
      return [problemNotice("The tenants cannot be shown", tenants.problem)];
    }
    if (!tenants.isLoaded) return [loadingNotice("Reading the tenants…")];
    if (all === 0) return [emptyNotice()];
    return shown === 0 ? [nothingFoundNotice(clear)] : [];
  }

  function put(row, isNews) {
    const known = lines.get(row.name);
    const isChanged = known ? known.update(row) : lines.set(row.name, new Row(row));
    if (isNews && isChanged) lines.get(row.name).highlight();
  }

  function drop(name) {
    lines.get(name)?.element.remove();
    lines.delete(name);
  }

  function putAll() {
    const isNews = lines.size > 0;
    for (const name of [...lines.keys()]) if (!tenants.rows.has(name)) drop(name);
    for (const row of tenants.rows.values()) put(row, isNews);
    arrange();
  }

  // Many changes at once are one: a thousand tenants that change do not sort the table a thousand times.
  let frameRequest = 0;
  function arrangeSoon() {
    frameRequest ||= requestAnimationFrame(() => {
      frameRequest = 0;
      arrange();
    });
  }

  const leave = tenants.subscribe((event) => {
    if (event.kind === "loaded") putAll();
    if (event.kind === "changed") put(event.row, true);
    if (event.kind === "gone") drop(event.name);
    arrangeSoon();
  });
  const forgetKey = onSlash(() => tools.search.select());

  putAll();
  lines.get(cameFrom)?.element.querySelector("a").focus({ preventScroll: true });
  return () => {
    leave();
    forgetKey();
  };
}

/** Moves only what stands elsewhere: a line that keeps its place keeps its focus. */
function putInOrder(body, lines) {
  let next = body.firstElementChild;
  for (const { element } of lines) {
    if (element === next) next = next.nextElementSibling;
    else body.insertBefore(element, next);
  }
}

function onSlash(act) {
  const onKey = (event) => {
    const isTyping = event.target.closest("input, select, textarea");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
