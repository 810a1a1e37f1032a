// The login page. The token is sent to the watcher, and is not stored by this script.

import { postJson } from "../shared/api.js";
import { el } from "../shared/dom.js";

const COMMAND = "kubectl create token NAME -n NAMESPACE";

export function showLogin(main) {
  const token = el("input", {
    ...{ id: "token", name: "token", type: "password", autocomplete: "off" },
    ...{ required: true, "aria-describedby": "token-help" },
  });
  const error = el("p", { class: "error", role: "alert" });
  const button = el("button", { type: "submit", class: "primary" }, "Sign in");

  async function signIn(event) {
    event.preventDefault();
    button.disabled = true;
    error.textContent = "";
    try {
      await postJson("/api/login", { token: token.value.trim() });
      location.assign(returnPath());
    } catch (problem) {
      error.textContent = problem.message;
      button.disabled = false;
      token.focus();
      token.select();
    }
  }

  document.title = "Sign in";
  main.replaceChildren(
    el(
      "form",
      { class: "login card", onsubmit: signIn },
      el("h1", { tabindex: "-1" }, "Sign in"),
      el("p", { class: "muted" }, "This page shows the tenants that the token gives read access to."),
      el("label", { for: "token" }, "Token"),
      token,
      el("p", { class: "help", id: "token-help" }, "To create a token, run ", el("code", {}, COMMAND)),
      error,
      button,
    ),
  );
  token.focus();
}

/** The path to return to. Other hosts are ignored, because anybody can write the parameter into a link. */
function returnPath() {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}
