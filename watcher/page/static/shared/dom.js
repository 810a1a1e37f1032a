// Elements from data. Text goes in as text nodes only, so that nothing in a tenant can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes that are false, null or undefined are left out, and such children too. */
export function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A shape out of the sheet in index.html. It only repeats what words beside it say. */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#icon-${name}` }));
}

export function visuallyHidden(text) {
  return el("span", { class: "visually-hidden" }, text);
}

/** "1 tenant", "2 tenants". */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value == null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}
