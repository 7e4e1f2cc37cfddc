// The tree of contexts: a click folds the rows below, and fetches rows that were not sent.
import { all, one } from "./dom.js";

/** @param {Element} row */
function levelOf(row) { return Number(row instanceof HTMLElement ? row.dataset.level : 0); }

/** @param {HTMLTableRowElement} row */
function foldRow(row) {
  const isFolded = row.classList.toggle("folded");
  row.setAttribute("aria-expanded", String(!isFolded));
  const twig = one(".twig", row);
  if (twig) twig.textContent = isFolded ? "▸" : "▾";
  const level = levelOf(row);
  // Rows that a folded row further down hides stay hidden.
  let hiddenBelow = isFolded ? level : Infinity;
  for (let next = row.nextElementSibling; next && levelOf(next) > level; next = next.nextElementSibling) {
    const own = levelOf(next);
    if (own <= hiddenBelow) hiddenBelow = isFolded ? level : Infinity;
    /** @type {HTMLElement} */ (next).hidden = own > hiddenBelow;
    if (!isFolded && next.classList.contains("folded") && own < hiddenBelow) hiddenBelow = own;
  }
}

/** Replaces "… n more" by the rows of a context. @param {HTMLTableRowElement} row @param {HTMLAnchorElement} link */
async function openMore(row, link) {
  link.textContent = "…";
  const response = await fetch(link.href).catch(() => null);
  if (!response?.ok) { location.href = link.href; return; }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const rows = all("table.tree tbody tr", page);
  const base = levelOf(row);
  // Rows of the same context, without the context itself and the rows already present.
  const known = new Set();
  for (let before = row.previousElementSibling; before && levelOf(before) >= base; before = before.previousElementSibling) {
    if (levelOf(before) === base) known.add(/** @type {HTMLElement} */ (before).dataset.id);
  }
  let isKnown = false;
  for (const fresh of rows.slice(1)) {
    const level = levelOf(fresh) - 1 + base;
    if (level === base) isKnown = known.has(fresh.dataset.id) && !fresh.classList.contains("more");
    if (isKnown) continue;
    fresh.dataset.level = String(level);
    const indent = one(".indent", fresh);
    indent?.setAttribute("width", String(14 * Math.min(level, 40)));
    row.before(document.importNode(fresh, true));
  }
  row.remove();
  markFoldable();
}

function markFoldable() {
  for (const row of all("table.tree tbody tr[data-level]")) {
    const next = row.nextElementSibling;
    if (next && levelOf(next) > levelOf(row)) {
      row.dataset.foldable = "";
      if (!row.hasAttribute("aria-expanded")) row.setAttribute("aria-expanded", "true");
    }
  }
  const table = one("table.tree");
  table?.setAttribute("role", "treegrid");
  table?.setAttribute("aria-label", "tree of contexts");
}

export function startTree() {
  if (!one("table.tree")) return;
  markFoldable();
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const row = /** @type {HTMLTableRowElement | null} */ (event.target.closest("table.tree tbody tr"));
  if (!row) return;
  const link = event.target.closest("a.open");
  if (link instanceof HTMLAnchorElement && link.search.includes("at=") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    openMore(row, link);
  } else if (event.target.closest(".twig") && "foldable" in row.dataset) {
    foldRow(row);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const row = /** @type {HTMLTableRowElement | null} */ (one("table.tree tr.current"));
  if (!row || !("foldable" in row.dataset)) return;
  if (row.classList.contains("folded") === (event.key === "ArrowRight")) foldRow(row);
});
