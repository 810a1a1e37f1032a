// The login page, where the watcher asks who is there. The token goes to the watcher and is not kept here.

import { tell } from "../shared/api.js";
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
      await tell("/api/login", { token: token.value.trim() });
      location.assign(wayBack());
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
      el("p", { class: "muted" }, "This page shows the tenants of your cluster to those who may see them there."),
      el("label", { for: "token" }, "Token"),
      token,
      el("p", { class: "help", id: "token-help" }, "A token comes from ", el("code", {}, COMMAND)),
      error,
      button,
    ),
  );
  token.focus();
}

/** Only to a page of our own: an address in a link could lead anywhere. */
function wayBack() {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}
