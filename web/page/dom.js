// What sections share: elements, and files to save.

export const $ = (id) => document.getElementById(id);

/** An element with attributes (properties for functions) and children; `null` children are left out. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

/** Offers `value` as a JSON file. */
export function save(name, value) {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(value, null, 2)}\n`], { type: "application/json" }));
  element("a", { href: url, download: name }).click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Lets the browser draw and take input. */
export function breathe() {
  return new Promise((resolve) => setTimeout(resolve));
}

/** What a saved report says of where it was made. */
export function origin(gpu) {
  return {
    date: new Date().toISOString(),
    user_agent: navigator.userAgent,
    device: deviceName(gpu),
    adapter: { ...gpu.adapter },
    features: [...gpu.features],
    reduction: gpu.reduction,
  };
}

/** The adapter by the best name that the browser gives away. */
export function deviceName({ adapter }) {
  const byParts = [adapter.vendor, adapter.architecture].filter(Boolean).join(" ");
  return adapter.description || adapter.name || byParts || "an adapter that the browser does not name";
}

export function reductionName({ reduction }) {
  return reduction === "subgroups" ? "by subgroups" : `in ${reduction}`;
}
