// The tree of contexts: a click folds the rows below, and fetches rows that were not sent.
import { all, isForPage, one } from "./dom.js";

/** @param {Element} row */
function levelOf(row) { return Number(row instanceof HTMLElement ? row.dataset.level : 0); }

/** @param {HTMLTableRowElement} row */
function foldRow(row) {
  row.classList.toggle("folded");
  showFolded();
}

/** Hides the rows below folded ones. */
function showFolded() {
  let hiddenBelow = Infinity;
  for (const row of all("table.tree tbody tr[data-level]")) {
    const level = levelOf(row), isFolded = row.classList.contains("folded"), twig = one(".twig", row);
    if (level <= hiddenBelow) hiddenBelow = Infinity;
    row.hidden = level > hiddenBelow;
    if (!row.hidden && isFolded) hiddenBelow = level;
    if (!("foldable" in row.dataset)) continue;
    row.setAttribute("aria-expanded", String(!isFolded));
    if (twig) twig.textContent = isFolded ? "▸" : "▾";
  }
}

/** Replaces "… n more" by the rows of a context. @param {HTMLElement} row @param {HTMLAnchorElement} link */
async function openMore(row, link) {
  const response = await fetch(link.href).catch(() => null);
  if (!response?.ok) return false;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const rows = all("table.tree tbody tr", page);
  const base = levelOf(row);
  // Rows of the same context, without the context itself and the rows already present.
  const known = new Set();
  for (let before = row.previousElementSibling; before && levelOf(before) >= base; before = before.previousElementSibling) {
    if (levelOf(before) === base) known.add(/** @type {HTMLElement} */ (before).dataset.context);
  }
  let isKnown = false;
  for (const fresh of rows.slice(1)) {
    const level = levelOf(fresh) - 1 + base;
    if (level === base) isKnown = known.has(fresh.dataset.context) && !fresh.classList.contains("more");
    if (isKnown) continue;
    fresh.dataset.level = String(level);
    if (fresh.hasAttribute("aria-level")) fresh.setAttribute("aria-level", String(level + 1));
    const indent = one(".indent", fresh);
    indent?.setAttribute("width", String(14 * Math.min(level, 40)));
    row.before(row.ownerDocument.importNode(fresh, true));
  }
  row.remove();
  return true;
}

/** Addresses of "… n more" that the user opened, in that order. @type {string[]} */
const opened = [];

/** Opens in a fresh copy of the page what is open in this one. @param {Document} page */
export async function openAgain(page) {
  for (const address of opened) {
    const link = all("table.tree a.open", page).find((each) => each.getAttribute("href") === address);
    const row = link?.closest("tr");
    if (row && link instanceof HTMLAnchorElement) await openMore(row, link);
  }
}

export function startTree() {
  const table = one("table.tree");
  if (!table) return;
  for (const row of all("tbody tr[data-level]", table)) {
    const next = row.nextElementSibling;
    if (next && levelOf(next) > levelOf(row)) row.dataset.foldable = "";
    else delete row.dataset.foldable;
  }
  showFolded();
  table.setAttribute("role", "treegrid");
  table.setAttribute("aria-label", "tree of contexts");
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const row = /** @type {HTMLTableRowElement | null} */ (event.target.closest("table.tree tbody tr"));
  if (!row) return;
  const link = event.target.closest("a.open");
  if (link instanceof HTMLAnchorElement && link.search.includes("at=") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    const address = link.getAttribute("href") ?? "";
    link.textContent = "…";
    openMore(row, link).then((isOpen) => {
      if (!isOpen) { location.href = link.href; return; }
      opened.push(address);
      startTree();
    });
  } else if (event.target.closest(".twig") && "foldable" in row.dataset) {
    foldRow(row);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  if (!isForPage(event) || event.shiftKey) return;
  const row = /** @type {HTMLTableRowElement | null} */ (one("table.tree tr.current"));
  if (!row || !("foldable" in row.dataset)) return;
  if (row.classList.contains("folded") === (event.key === "ArrowRight")) foldRow(row);
});
