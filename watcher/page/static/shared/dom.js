// Creates elements. Text is added as text nodes only, so that a tenant's data cannot become HTML markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes and children that are false, null or undefined are left out. */
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** An icon from index.html. Screen readers skip it, because the text beside it says the same. */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#icon-${name}` }));
}

export function visuallyHidden(text) {
  return el("span", { class: "visually-hidden" }, text);
}

/** "1 tenant", "2 tenants". */
export function countText(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value == null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}
