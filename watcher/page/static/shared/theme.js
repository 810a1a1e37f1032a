// The theme that was chosen here before, if any; without a choice the system's counts.
// A plain script in the head, before the first paint. The button that chooses is wired up in page.js.
{
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
}
