// The rows of all tenants, kept current by the stream. Views subscribe to it; it knows of no view.

import { ask } from "./api.js";

const RETRY_MS = 3_000;
const NO_RIGHT = 403;

/**
 * What has happened, told to every listener:
 *   loaded            all rows were read anew
 *   changed   {row}   a tenant is new or another than before
 *   gone      {name}
 *   problem           the rows could not be read; see `tenants.problem`
 *   link              `tenants.isLive` has changed
 */
export const tenants = {
  rows: new Map(),
  user: "",
  isLoaded: false,
  isLive: false,
  problem: null,

  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },

  start() {
    if (!source) open();
  },
};

const listeners = new Set();
let source = null;
// What the stream says while the rows are being read: it may be newer than they are.
let waiting = null;

function open() {
  source = new EventSource("/api/stream");
  // After a reconnect too: what happened in between is not sent again.
  source.addEventListener("open", () => {
    setLive(true);
    load();
  });
  source.addEventListener("error", () => {
    setLive(false);
    // A refusal ends the stream for good; a lost connection is mended by the browser.
    const isOver = source.readyState === EventSource.CLOSED;
    // Says why, where the stream cannot: no session, no right, or no watcher.
    if (isOver || !tenants.isLoaded) load();
    if (isOver) setTimeout(openAgain, RETRY_MS);
  });
  source.addEventListener("tenant", (event) => receive({ kind: "changed", row: JSON.parse(event.data) }));
  source.addEventListener("gone", (event) => receive({ kind: "gone", name: JSON.parse(event.data).name }));
}

/** A right that somebody has not got does not come by trying again and again. */
function openAgain() {
  if (tenants.problem?.status !== NO_RIGHT) open();
}

async function load() {
  if (waiting) return;
  waiting = [];
  try {
    const answer = await ask("/api/tenants");
    tenants.rows = new Map(answer.tenants.map((row) => [row.name, row]));
    tenants.user = answer.user;
    tenants.isLoaded = true;
    tenants.problem = null;
    tell({ kind: "loaded" });
  } catch (problem) {
    tenants.problem = problem;
    tell({ kind: "problem" });
  }
  const late = waiting;
  waiting = null;
  late.forEach(receive);
}

function receive(event) {
  if (waiting) {
    waiting.push(event);
    return;
  }
  if (event.kind === "gone") {
    if (!tenants.rows.delete(event.name)) return;
  } else {
    tenants.rows.set(event.row.name, event.row);
  }
  tell(event);
}

function setLive(isLive) {
  if (tenants.isLive === isLive) return;
  tenants.isLive = isLive;
  tell({ kind: "link" });
}

function tell(event) {
  for (const listener of [...listeners]) listener(event);
}
