// The page's address, which holds the page's state. In a file with pages it is behind the "#".
import { one } from "./dom.js";

/** @returns {[string, string]} path and query */
function addressParts() {
  if (!one("#pages")) return [location.pathname, location.search.slice(1)];
  const [path, query = ""] = location.hash.slice(1).split("?");
  return [path, query];
}

export function addressPath() { return decodeURIComponent(addressParts()[0]); }

export function addressParameters() { return new URLSearchParams(addressParts()[1]); }

/** As the server writes it. @param {string} text */
function encoded(text) { return encodeURIComponent(text).replace(/%(?:2C|3A)/g, decodeURIComponent); }

/** A query with some parameters changed; "" removes one. @param {string} query @param {Record<string, string>} changes */
export function changedQuery(query, changes) {
  const kept = query.split("&").filter((part) => part && !(part.split("=")[0] in changes));
  const added = Object.entries(changes).filter(([, value]) => value).map(([name, value]) => `${name}=${encoded(value)}`);
  return [...kept, ...added].join("&");
}

/** @param {Record<string, string>} changes @param {boolean} isStep whether Back leads to the address before */
export function changeAddress(changes, isStep) {
  const [path, query] = addressParts(), changed = changedQuery(query, changes);
  if (changed === query) return;
  const address = `${one("#pages") ? "#" : ""}${path}${changed ? "?" : ""}${changed}`;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** What the browser alone knows of a flame graph, until the address leads there again. */
const graphNames = ["at", "zoom", "highlight"];

/** @param {string} address @param {string[]} names */
function withOwn(address, names) {
  const url = new URL(address, location.href), here = addressParameters();
  url.search = changedQuery(url.search.slice(1), Object.fromEntries(names.map((name) => [name, here.get(name) ?? ""])));
  return url.href;
}

/** @param {Event} event */
function keepInLink(event) {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!(link instanceof HTMLAnchorElement) || link.pathname !== location.pathname) return;
  link.href = withOwn(link.href, link.closest(".lists") ? graphNames : ["highlight"]);
}

/** Other lists, metrics and commands lead to the same part of the same flame graph. */
export function startAddress() {
  if (!one(".flame") || one("#pages")) return;
  document.addEventListener("click", keepInLink, { capture: true });
  document.addEventListener("auxclick", keepInLink, { capture: true });
  document.addEventListener("formdata", (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    if (form.method !== "get" || new URL(form.action).pathname !== location.pathname) return;
    for (const name of graphNames) event.formData.set(name, addressParameters().get(name) ?? "");
  });
  document.addEventListener("submit", (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    if (form.method === "post") form.action = withOwn(form.action, graphNames);
  }, { capture: true });
}
