// The keyboard's current row: j and k move, Enter opens, + - ~ put its function on a list.
import { addressPath } from "./address.js";
import { all, copyText, one } from "./dom.js";

/** @type {HTMLElement | null} */
let currentRow = null;

/** Tells the id of a chosen function without a row, in a flame graph; "": none. @type {(() => string) | null} */
let chosenFunction = null;
/** @param {(() => string) | null} told */
export function setFunction(told) { chosenFunction = told; }

/** @returns {HTMLElement[]} */
function rowsShown() { return all("main [data-id]").filter((row) => row.offsetParent !== null); }

/** Keys then act on its function. @param {HTMLElement} row */
function setCurrent(row) {
  currentRow?.classList.remove("current");
  currentRow = row;
  row.classList.add("current");
  chosenFunction = null;
}

/** @param {HTMLElement} row */
function goTo(row) {
  setCurrent(row);
  row.scrollIntoView({ block: "nearest" });
  one("a.fn", row)?.focus({ preventScroll: true });
}

/** @param {number} step */
export function moveRow(step) {
  const rows = rowsShown();
  if (!rows.length) return;
  const at = currentRow ? rows.indexOf(currentRow) : -1;
  goTo(rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + step))]);
}

export function openRow() { if (currentRow?.isConnected) one("a.fn", currentRow)?.click(); }

/** The function that keys act on: the chosen one, a call graph's in focus, the current row's, or the page's own. @returns {string} */
export function currentId() {
  const chosen = chosenFunction?.();
  if (chosen) return chosen;
  const box = document.activeElement?.closest("svg.graph [data-function]");
  if (box) return box.getAttribute("data-function") ?? "";
  if (currentRow?.isConnected) return currentRow.dataset.id ?? "";
  const match = addressPath().match(/^\/(?:block|source)\/(id:[0-9a-f]+)/);
  return match ? match[1] : "";
}

/** Puts a function on a list, through the buttons' form. @param {"sel" | "exc" | "fold"} list @param {string} [id] */
export function putOnList(list, id = currentId()) {
  const form = /** @type {HTMLFormElement | null} */ (one("#lists"));
  if (!form || !id) return;
  const input = document.createElement("input");
  input.type = "hidden";
  input.name = list;
  input.value = id;
  form.append(input);
  form.requestSubmit();
}

export function copyName() {
  const row = currentRow?.isConnected ? currentRow : null, link = row && one("a.fn", row);
  const whole = one("[data-whole]");
  const text = row ? link?.title || link?.textContent : whole?.textContent;
  if (text) copyText(text, "name");
}

export function currentRowId() { return currentRow?.dataset.id ?? ""; }

/** After the page was renewed: if the current row is gone, one of the same function. @param {string} id */
export function restoreRow(id) {
  if (currentRow?.isConnected) return;
  currentRow = id ? one(`main [data-id="${CSS.escape(id)}"]`) : null;
  currentRow?.classList.add("current");
}

export function startRows() {
  document.addEventListener("click", (event) => {
    const row = event.target instanceof Element ? event.target.closest("main [data-id]") : null;
    if (row instanceof HTMLElement && !(event.target instanceof HTMLAnchorElement)) setCurrent(row);
  });
}
