// The rows of all tenants, kept up to date by the stream. Views subscribe to changes.

import { getJson } from "./api.js";

const RETRY_MS = 3_000;
const FORBIDDEN = 403;

/**
 * Listeners are called with these events:
 *   loaded             all rows were loaded
 *   changed    {row}   a tenant is new or changed
 *   gone       {name}  a tenant was deleted
 *   problem            the rows could not be loaded; see `tenants.problem`
 *   connection         `tenants.isLive` has changed
 */
export const tenants = {
  rows: new Map(),
  user: "",
  // The leader among the watchers, and whether the leader serves this page.
  leader: "",
  isLeader: true,
  isLoaded: false,
  isLive: false,
  problem: null,

  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },

  start() {
    if (!source) openStream();
  },
};

const listeners = new Set();
let source = null;
// Events that arrive while the rows are being loaded. They are handled afterwards, because they may be newer.
let pendingEvents = null;

function openStream() {
  source = new EventSource("/api/stream");
  // After a reconnect, all rows are loaded again, because the stream does not send missed changes.
  source.addEventListener("open", () => {
    setLive(true);
    load();
  });
  source.addEventListener("error", () => {
    setLive(false);
    // If the request was rejected, the stream is closed. If the connection was lost, the browser reconnects.
    const isClosed = source.readyState === EventSource.CLOSED;
    // An EventSource does not provide the reason of an error. The response of `load` does.
    if (isClosed || !tenants.isLoaded) load();
    if (isClosed) setTimeout(reopenStream, RETRY_MS);
  });
  source.addEventListener("tenant", (event) => receive({ kind: "changed", row: JSON.parse(event.data) }));
  source.addEventListener("gone", (event) => receive({ kind: "gone", name: JSON.parse(event.data).name }));
}

/** Open the stream again, unless the user lacks the right to list tenants. */
function reopenStream() {
  if (tenants.problem?.status !== FORBIDDEN) openStream();
}

async function load() {
  if (pendingEvents) return;
  pendingEvents = [];
  try {
    const data = await getJson("/api/tenants");
    tenants.rows = new Map(data.tenants.map((row) => [row.name, row]));
    tenants.user = data.user;
    tenants.leader = data.leader;
    tenants.isLeader = data.isLeader;
    tenants.isLoaded = true;
    tenants.problem = null;
    notify({ kind: "loaded" });
  } catch (problem) {
    tenants.problem = problem;
    notify({ kind: "problem" });
  }
  const events = pendingEvents;
  pendingEvents = null;
  events.forEach(receive);
}

function receive(event) {
  if (pendingEvents) {
    pendingEvents.push(event);
    return;
  }
  if (event.kind === "gone") {
    if (!tenants.rows.delete(event.name)) return;
  } else {
    tenants.rows.set(event.row.name, event.row);
  }
  notify(event);
}

function setLive(isLive) {
  if (tenants.isLive === isLive) return;
  tenants.isLive = isLive;
  notify({ kind: "connection" });
}

function notify(event) {
  for (const listener of [...listeners]) listener(event);
}
