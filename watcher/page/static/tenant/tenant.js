// A tenant's page. Loads the tenant and its history, and loads them again when the stream reports a change.
// Only sections whose data has changed are replaced.

import { getJson } from "../shared/api.js";
import { el, icon } from "../shared/dom.js";
import { History } from "../history/history.js";
import { deletedTenantNotice, loadingNotice, problemNotice, unknownTenantNotice } from "../shared/notices.js";
import { access, conditions, drift, head, namespaces, network, pending } from "./sections.js";
import { sessions } from "./sessions.js";
import { spec } from "./spec.js";
import { tenants } from "../shared/tenant-rows.js";

// Wait this long after a change, because a tenant changes several times in a row while it is applied.
const SETTLE_MS = 250;
const RETRY_MS = 3_000;

/** Show a tenant. `listAddress` is the address of the list with its last search. */
export function showTenant(main, name, { listAddress }) {
  const path = `/api/tenants/${encodeURIComponent(name)}`;
  const updates = new History();
  const parts = {
    head: part(head),
    namespaces: part(namespaces),
    conditions: part(conditions),
    pending: part(pending),
    drift: part((data) => drift(data, (version) => updates.open(version))),
    network: part(network),
    access: part(access),
    sessions: part(sessions),
    spec: part(spec),
  };
  const historyNotice = el("div", {}, loadingNotice("Loading the history…"));
  const history = section("History", historyNotice, updates.element);
  const page = el("div", { class: "tenant" });
  const title = el("h1", { tabindex: "-1", class: "tenant-name" }, name);
  const back = el("a", { href: listAddress, class: "back" }, icon("back"), "All tenants");
  main.replaceChildren(el("nav", { "aria-label": "Breadcrumb" }, back), title, page);
  page.append(loadingNotice("Loading the tenant…"));
  document.title = `${name} · Tenants`;

  let isClosed = false;
  let view = null;
  // Whether the tenant has existed while the page was open. A request that is answered after the deletion must
  // not replace the notice about the deletion.
  let hasExisted = false;
  let loadedUpdates = [];

  async function load() {
    try {
      const data = await getJson(path);
      if (isClosed) return;
      if (!view) showSections();
      view = data;
      hasExisted = true;
      updateSections();
    } catch (problem) {
      if (isClosed) return;
      if (problem.status === 404) return showNotice(hasExisted ? deletedTenantNotice(name) : unknownTenantNotice(name));
      if (!view) page.replaceChildren(problemNotice("Cannot show the tenant", problem));
      // Retry after all errors except a missing permission. For example, the watcher may still be starting.
      if (problem.status !== 403) loadSoon(RETRY_MS);
    }
  }

  async function loadHistory() {
    try {
      const data = await getJson(`${path}/history`);
      if (isClosed) return;
      loadedUpdates = data.updates;
      updates.update(loadedUpdates);
      historyNotice.replaceChildren(loadedUpdates.length ? "" : el("p", { class: "muted" }, "No updates yet."));
      if (view) updateSections();
    } catch (problem) {
      if (isClosed || problem.status === 404) return;
      historyNotice.replaceChildren(
        el("p", { class: "error" }, problem.message),
        el("button", { type: "button", onclick: loadHistory }, "Load the history again"),
      );
    }
  }

  function updateSections() {
    parts.head.update(view.row);
    parts.namespaces.update(view.namespaces);
    parts.conditions.update(view.conditions);
    parts.pending.update({ changes: view.pendingChanges, isApplied: view.row.isApplied, conditions: view.conditions });
    parts.drift.update({ now: view.drift, isDrifted: view.row.isDrifted, updates: loadedUpdates });
    parts.network.update({ network: view.network, name });
    parts.access.update({ access: view.access, namespaceCount: view.namespaces.length });
    parts.sessions.update({ rows: view.sessions, count: view.sessionCount });
    parts.spec.update({ spec: view.spec, plan: view.row.plan, planDefaults: view.planDefaults });
  }

  function showSections() {
    page.replaceChildren(
      parts.head.element,
      el(
        "div",
        { class: "columns" },
        el("div", {}, section("Namespaces", parts.namespaces.element), section("Access", parts.access.element)),
        el(
          "div",
          {},
          section("Conditions", parts.conditions.element),
          section("Pending changes", parts.pending.element),
          section("Drift", parts.drift.element),
        ),
      ),
      section("Sessions", parts.sessions.element),
      section("Network", parts.network.element),
      section("Spec", parts.spec.element),
      history,
    );
  }

  function showNotice(notice) {
    title.classList.add("visually-hidden");
    page.replaceChildren(notice);
    view = null;
  }

  let timer = 0;
  function loadSoon(delayMs = SETTLE_MS) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      title.classList.remove("visually-hidden");
      load();
      loadHistory();
    }, delayMs);
  }

  const unsubscribe = tenants.subscribe((event) => {
    if (event.kind === "changed" && event.row.name === name) loadSoon();
    if (event.kind === "loaded" && view) loadSoon();
    if (event.kind === "gone" && event.name === name) {
      clearTimeout(timer);
      hasExisted = true;
      showNotice(deletedTenantNotice(name));
    }
  });
  load();
  loadHistory();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    unsubscribe();
  };
}

function section(title, ...content) {
  return el("section", { class: "card" }, el("h2", {}, title), ...content);
}

/** A part of the page. Its content is replaced when its data changes. */
function part(create) {
  const element = el("div");
  let shownJson;
  return {
    element,
    update(data) {
      const json = JSON.stringify(data);
      if (json === shownJson) return;
      shownJson = json;
      element.replaceChildren(...create(data));
    },
  };
}
