// Requests to the watcher, and their errors. Does not touch the document.

/** A failed request. `status` is the HTTP status, or 0 if there was no response. Users see the message. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The JSON data of a path. If the token is invalid, the browser goes to the login page. */
export async function getJson(path) {
  return parsed(await send(path));
}

export async function postJson(path, body = {}) {
  return parsed(
    await send(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new RequestError(0, "The watcher does not answer. It may be restarting; this page retries automatically.");
  }
}

async function parsed(response) {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  if (response.status === 401 && location.pathname !== "/login") {
    location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  }
  throw new RequestError(response.status, body.message ?? `The watcher answered with status ${response.status}.`);
}
