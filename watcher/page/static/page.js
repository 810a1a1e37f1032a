// Entry point of the page. Shows the view for the address, and keeps the header up to date.

import { postJson } from "./shared/api.js";
import { el, visuallyHidden } from "./shared/dom.js";
import { showList } from "./list/list.js";
import { showLogin } from "./login/login.js";
import { unknownPageNotice } from "./shared/notices.js";
import { showTenant } from "./tenant/tenant.js";
import { tenants } from "./shared/tenant-rows.js";

const TENANT = /^\/tenants\/([^/]+)\/?$/;
const VIEWS = [
  [/^\/$/, (main) => showList(main, { previousTenant: tenantIn(shownPath) })],
  [TENANT, (main) => showTenant(main, tenantIn(location.pathname), { listAddress })],
  [/^\/login$/, showLogin],
];

const main = document.getElementById("main");
// Cleans up after the current view. Called before the next view is shown.
let leaveView = () => {};
let shownPath = "";
// The address of the list with its last search, for the link back to it.
let listAddress = "/";

function show() {
  const path = location.pathname;
  leaveView();
  const [, view] = VIEWS.find(([pattern]) => pattern.test(path)) ?? [null, showNotFound];
  leaveView = view(main) ?? (() => {});
  shownPath = path;
  if (path !== "/login") tenants.start();
}

function tenantIn(path) {
  return decodeURIComponent(path.match(TENANT)?.[1] ?? "");
}

function showNotFound() {
  document.title = "Page not found";
  main.replaceChildren(el("h1", { class: "visually-hidden" }, "Page not found"), unknownPageNotice());
}

function navigate(address) {
  if (shownPath === "/") listAddress = `/${location.search}`;
  history.pushState(null, "", address);
  show();
  scrollTo(0, 0);
  // Screen readers announce the heading that gets the focus, as after a page load.
  if (document.activeElement === document.body) main.querySelector("h1")?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain) return;
  event.preventDefault();
  navigate(link.getAttribute("href"));
});
addEventListener("popstate", () => {
  // The browser itself handles a jump to another part of the same view.
  if (!location.hash || location.pathname !== shownPath) show();
});

const live = document.getElementById("live");
function showConnection() {
  live.hidden = isForbidden();
  live.classList.toggle("is-live", tenants.isLive);
  const [text, hiddenText] = tenants.isLive ? ["Live", ": changes appear automatically"] : ["Reconnecting…", ""];
  live.replaceChildren(text, visuallyHidden(hiddenText));
}

/** Whether the user lacks the right to list tenants. The user may still have access to single tenants. */
function isForbidden() {
  return tenants.problem?.status === 403;
}

function showUser() {
  document.getElementById("user").textContent = tenants.user;
  document.getElementById("account").hidden = !tenants.user && !isForbidden();
}

const leader = document.getElementById("leader");
function showLeader() {
  const text = tenants.leader ? `Leader: ${tenants.leader}` : "No watcher leads.";
  leader.hidden = false;
  leader.textContent = tenants.isLeader ? text : `This watcher is a standby and changes nothing. ${text}`;
}

tenants.subscribe((event) => {
  if (event.kind === "loaded") showLeader();
  if (event.kind === "connection" || event.kind === "problem") showConnection();
  if (event.kind === "loaded" || event.kind === "problem") showUser();
});

document.getElementById("logout").addEventListener("click", async () => {
  await postJson("/api/logout");
  location.assign("/login");
});

const root = document.documentElement;
const themeButton = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
}
function showTheme() {
  root.classList.toggle("is-dark", isDark());
  themeButton.setAttribute("aria-pressed", String(isDark()));
}
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  showTheme();
});
systemDark.addEventListener("change", showTheme);
showTheme();

show();
