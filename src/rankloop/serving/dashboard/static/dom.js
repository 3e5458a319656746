// Elements without markup in strings: nothing that the service sends can become a script.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

// Puts new children in, and leaves the focus, open details and scrolling where they were.
export function fill(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const open = [...node.querySelectorAll("details[open][data-key]")].map((details) => details.dataset.key);
  const scrolled = new Map([...node.querySelectorAll(".scroll[data-key]")].map((box) => [box.dataset.key, box.scrollTop]));
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  const find = (key) => node.querySelector(`[data-key="${CSS.escape(key)}"]`);
  for (const key of open) find(key)?.setAttribute("open", "");
  for (const [key, top] of scrolled) if (find(key)) find(key).scrollTop = top;
  if (focused) find(focused)?.focus({ preventScroll: true });
}

export function table(heads, rows, props = {}) {
  const cell = (tag) => (content, column) =>
    el(tag, { class: heads[column].number ? "n" : null, scope: tag === "th" ? "col" : null }, content);
  const body = rows.map((row) => (row instanceof Node ? row : el("tr", {}, row.map(cell("td")))));
  return el("table", props,
    el("thead", {}, el("tr", {}, heads.map((head) => head.name).map(cell("th")))),
    el("tbody", {}, body));
}

export function say(words) {
  byId("say").textContent = words;
}
