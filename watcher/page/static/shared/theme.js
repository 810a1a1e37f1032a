// Applies the theme that the user selected earlier. Without a selection, the system's theme applies.
// This is a plain script in the head, so that it runs before the first paint. page.js handles the button.
{
  const selected = localStorage.getItem("theme");
  if (selected) document.documentElement.dataset.theme = selected;
}
