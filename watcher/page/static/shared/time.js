// Relative times and durations as text. Times on the page are updated regularly.

const UNITS = [
  [60, 1, "s"],
  [3600, 60, "min"],
  [86400, 3600, "h"],
  [86400 * 60, 86400, "d"],
  [86400 * 730, 86400 * 30.44, "mo"],
  [Infinity, 86400 * 365.25, "y"],
];
const EXACT = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const REFRESH_MS = 10_000;

/** "5 min ago", with the exact time as its tooltip. */
export function ago(time) {
  const element = document.createElement("time");
  element.dateTime = time;
  element.title = EXACT.format(new Date(time));
  element.className = "ago";
  element.textContent = agoText(time);
  return element;
}

export function durationText(seconds) {
  if (seconds == null) return "not finished";
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

function agoText(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  // The cluster's clock may be slightly ahead of the browser's.
  if (seconds < 5) return "just now";
  const [, size, unit] = UNITS.find(([limit]) => seconds < limit);
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

setInterval(() => {
  for (const element of document.querySelectorAll("time.ago")) {
    const text = agoText(element.dateTime);
    if (element.textContent !== text) element.textContent = text;
  }
}, REFRESH_MS);
