// The page's entry: shows the view that the address asks for, and keeps the bar on top current.

import { tell } from "./shared/api.js";
import { el, visuallyHidden } from "./shared/dom.js";
import { showList } from "./list/list.js";
import { showLogin } from "./login/login.js";
import { unknownPageNotice } from "./shared/notices.js";
import { showTenant } from "./tenant/tenant.js";
import { tenants } from "./shared/tenant-rows.js";

const TENANT = /^\/tenants\/([^/]+)\/?$/;
const VIEWS = [
  [/^\/$/, (main) => showList(main, { cameFrom: tenantIn(shownPath) })],
  [TENANT, (main) => showTenant(main, tenantIn(location.pathname), { backTo: listAddress })],
  [/^\/login$/, showLogin],
];

const main = document.getElementById("main");
// What the view that is shown leaves behind: called before the next one comes.
let leave = () => {};
let shownPath = "";
// The list as it was left: the way back leads to the same search.
let listAddress = "/";

function show() {
  const path = location.pathname;
  leave();
  const [, view] = VIEWS.find(([pattern]) => pattern.test(path)) ?? [null, showUnknown];
  leave = view(main) ?? (() => {});
  shownPath = path;
  if (path !== "/login") tenants.start();
}

function tenantIn(path) {
  return decodeURIComponent(path.match(TENANT)?.[1] ?? "");
}

function showUnknown() {
  document.title = "No such page";
  main.replaceChildren(el("h1", { class: "visually-hidden" }, "No such page"), unknownPageNotice());
}

function go(address) {
  if (shownPath === "/") listAddress = `/${location.search}`;
  history.pushState(null, "", address);
  show();
  scrollTo(0, 0);
  // Says where one is now, as a page that is loaded would.
  if (document.activeElement === document.body) main.querySelector("h1")?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
addEventListener("popstate", () => {
  // A jump within a view is the browser's own business.
  if (!location.hash || location.pathname !== shownPath) show();
});

const live = document.getElementById("live");
function tellLink() {
  live.hidden = isRefused();
  live.classList.toggle("is-live", tenants.isLive);
  const [word, more] = tenants.isLive ? ["Live", ": changes appear by themselves"] : ["Reconnecting…", ""];
  live.replaceChildren(word, visuallyHidden(more));
}

/** Somebody whom the cluster knows, and who may not list tenants: one of them they may still see. */
function isRefused() {
  return tenants.problem?.status === 403;
}

function tellUser() {
  document.getElementById("user").textContent = tenants.user;
  document.getElementById("account").hidden = !tenants.user && !isRefused();
}

tenants.subscribe((event) => {
  if (event.kind === "link" || event.kind === "problem") tellLink();
  if (event.kind === "loaded" || event.kind === "problem") tellUser();
});

document.getElementById("logout").addEventListener("click", async () => {
  await tell("/api/logout");
  location.assign("/login");
});

const root = document.documentElement;
const themeButton = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
}
function tellTheme() {
  root.classList.toggle("is-dark", isDark());
  themeButton.setAttribute("aria-pressed", String(isDark()));
}
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  tellTheme();
});
systemDark.addEventListener("change", tellTheme);
tellTheme();

show();
