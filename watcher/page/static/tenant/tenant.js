// A tenant's own page. Reads the tenant and its history, and reads them again when the stream tells of it.
// Only sections whose data has changed are made anew.

import { ask } from "../shared/api.js";
import { el, icon } from "../shared/dom.js";
import { History } from "../history/history.js";
import { goneTenantNotice, loadingNotice, problemNotice, unknownTenantNotice } from "../shared/notices.js";
import { access, conditions, drift, head, namespaces, network } from "./sections.js";
import { tenants } from "../shared/tenant-rows.js";

// A tenant that is being applied changes several times within a moment.
const SETTLE_MS = 250;
const RETRY_MS = 3_000;

/** `backTo`: the address of the list as it was left. */
export function showTenant(main, name, { backTo }) {
  const path = `/api/tenants/${encodeURIComponent(name)}`;
  const updates = new History();
  const parts = {
    head: part(head),
    namespaces: part(namespaces),
    conditions: part(conditions),
    drift: part((found) => drift(found, (version) => updates.open(version))),
    network: part(network),
    access: part(access),
  };
  const historyNotice = el("div", {}, loadingNotice("Reading the history…"));
  const history = section("History", historyNotice, updates.element);
  const page = el("div", { class: "tenant" });
  const title = el("h1", { tabindex: "-1", class: "tenant-name" }, name);
  const back = el("a", { href: backTo, class: "back" }, icon("back"), "All tenants");
  main.replaceChildren(el("nav", { "aria-label": "Breadcrumb" }, back), title, page);
  page.append(loadingNotice("Reading the tenant…"));
  document.title = `${name} · Tenants`;

  let isLeft = false;
  let view = null;
  let known = [];

  async function read() {
    try {
      const found = await ask(path);
      if (isLeft) return;
      if (!view) lay();
      view = found;
      tell();
    } catch (problem) {
      if (isLeft) return;
      if (problem.status === 404) return close(view ? goneTenantNotice(name) : unknownTenantNotice(name));
      if (!view) page.replaceChildren(problemNotice("The tenant cannot be shown", problem));
      // A right that is missing does not come by itself; a watcher that has only just started will answer.
      if (problem.status !== 403) readSoon(RETRY_MS);
    }
  }

  async function readHistory() {
    try {
      const found = await ask(`${path}/history`);
      if (isLeft) return;
      known = found.updates;
      updates.update(known);
      historyNotice.replaceChildren(known.length ? "" : el("p", { class: "muted" }, "No update yet."));
      if (view) tell();
    } catch (problem) {
      if (isLeft || problem.status === 404) return;
      historyNotice.replaceChildren(
        el("p", { class: "error" }, problem.message),
        el("button", { type: "button", onclick: readHistory }, "Read the history again"),
      );
    }
  }

  function tell() {
    parts.head.update(view.row);
    parts.namespaces.update(view.namespaces);
    parts.conditions.update(view.conditions);
    parts.drift.update({ now: view.drift, isDrifted: view.row.isDrifted, updates: known });
    parts.network.update({ network: view.network, name });
    parts.access.update({ access: view.access, namespaceCount: view.namespaces.length });
  }

  function lay() {
    page.replaceChildren(
      parts.head.element,
      el(
        "div",
        { class: "columns" },
        el("div", {}, section("Namespaces", parts.namespaces.element), section("Access", parts.access.element)),
        el("div", {}, section("Conditions", parts.conditions.element), section("Drift", parts.drift.element)),
      ),
      section("Network", parts.network.element),
      history,
    );
  }

  function close(notice) {
    title.classList.add("visually-hidden");
    page.replaceChildren(notice);
    view = null;
  }

  let timer = 0;
  function readSoon(after = SETTLE_MS) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      title.classList.remove("visually-hidden");
      read();
      readHistory();
    }, after);
  }

  const leave = tenants.subscribe((event) => {
    if (event.kind === "changed" && event.row.name === name) readSoon();
    if (event.kind === "loaded" && view) readSoon();
    if (event.kind === "gone" && event.name === name) {
      clearTimeout(timer);
      close(goneTenantNotice(name));
    }
  });
  read();
  readHistory();
  return () => {
    isLeft = true;
    clearTimeout(timer);
    leave();
  };
}

function section(title, ...content) {
  return el("section", { class: "card" }, el("h2", {}, title), ...content);
}

/** A piece of the page that is made anew when its data is another than before. */
function part(make) {
  const element = el("div");
  let facts;
  return {
    element,
    update(data) {
      const found = JSON.stringify(data);
      if (found === facts) return;
      facts = found;
      element.replaceChildren(...make(data));
    },
  };
}
