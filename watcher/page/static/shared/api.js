// What the watcher is asked, and how its refusals are told. Nothing here touches the document.

/** An answer that is none: `status` is 0 where nobody answered. The message is for people. */
export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The JSON under a path. Without a valid session the browser goes to the login page. */
export async function ask(path) {
  return answered(await sent(path));
}

export async function tell(path, body = {}) {
  return answered(
    await sent(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

async function sent(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Problem(0, "The watcher does not answer. It may be restarting; this page tries again by itself.");
  }
}

async function answered(answer) {
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  if (answer.status === 401 && location.pathname !== "/login") {
    location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  }
  throw new Problem(answer.status, body.message ?? `The watcher answered ${answer.status}.`);
}
