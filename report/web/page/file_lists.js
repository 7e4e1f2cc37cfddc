// Select, exclude and fold in a file: the lists are in its address, and pages that can be computed
// from the contexts in the file are rebuilt.
import { addressParameters, addressPath } from "./address.js";
import { filteredContexts, flameOf, functionSums, nameOf } from "./contexts.js";
import { all, element, one } from "./dom.js";
import { quantityText, shareText } from "./flame_data.js";

/** @typedef {import("./contexts.js").ListEntry} ListEntry */

const listSigns = { sel: "+", exc: "−", fold: "~" };
const listWords = { sel: "only through", exc: "without", fold: "folded" };
const listTitles = { sel: "only paths through it (+)", exc: "no path through it (-)", fold: "charge it to its callers (~)" };
const rowsShownInFile = 200;

/** The page's address and its lists. @returns {{path: string, metric: string, lists: ListEntry[]}} */
export function fileAddress() {
  const path = addressPath(), parameters = addressParameters();
  /** @type {ListEntry[]} */
  const lists = [];
  parameters.forEach((value, name) => { if (name in listSigns) lists.push({ list: name, id: value }); });
  return { path: path || "/overview", metric: parameters.get("metric") ?? "", lists };
}

/** @param {string} path @param {string} metric @param {ListEntry[]} lists */
export function fileHash(path, metric, lists) {
  const parts = lists.map((entry) => `${entry.list}=${encodeURIComponent(entry.id)}`);
  if (metric) parts.unshift(`metric=${encodeURIComponent(metric)}`);
  return `#${path}${parts.length ? "?" : ""}${parts.join("&")}`;
}

/** Where a link to a page leads. @param {Element} link */
export function linkAddress(link) {
  const [path, query] = (link.getAttribute("href") ?? "").slice(1).split("?");
  return { path: decodeURIComponent(path), metric: new URLSearchParams(query).get("metric") ?? "" };
}

/** @param {string} metric */
function contextsOf(metric) {
  const found = all("script.contexts").find((script) => script.dataset.metric === metric);
  return JSON.parse(found?.textContent ?? "null");
}

/** @param {ListEntry[]} lists */
function goToLists(lists) {
  const { path, metric } = fileAddress();
  location.hash = fileHash(path, metric, lists);
}

/** @param {string} list @param {string} id */
function putOnFileList(list, id) {
  const { lists } = fileAddress();
  goToLists([...lists.filter((entry) => entry.id !== id || entry.list !== list), { list, id }]);
}

/** @param {string} text @param {string} title @param {() => void} act */
function chipButton(text, title, act) {
  const button = /** @type {HTMLButtonElement} */ (element("button", text, "quiet"));
  button.title = title;
  button.setAttribute("aria-label", title);
  button.addEventListener("click", act);
  return button;
}

/** @param {any} data @param {ListEntry[]} lists @param {number} kept */
function showChips(data, lists, kept) {
  const place = one("section.lists");
  if (!place) return;
  place.replaceChildren();
  if (!lists.length) return place.append(element("span", `${data.metric} ${quantityText(data.total, data.unit)} in all`, "kept"));
  const chips = element("ul");
  lists.forEach((entry, i) => {
    const list = /** @type {keyof typeof listSigns} */ (entry.list), at = data.functions.id.indexOf(entry.id);
    const chip = element("li", "", `chip ${list}`);
    chip.append(element("span", `${listWords[list]} ${at < 0 ? entry.id : data.functions.name[at]}`));
    for (const other of /** @type {(keyof typeof listSigns)[]} */ (Object.keys(listSigns))) {
      if (other !== list) chip.append(chipButton(listSigns[other], `${listWords[other]} instead`, () => goToLists(lists.with(i, { list: other, id: entry.id }))));
    }
    chip.append(chipButton("×", "take it off the list", () => goToLists(lists.toSpliced(i, 1))));
    chips.append(chip);
  });
  const undo = chipButton("undo", "take the last one off", () => goToLists(lists.slice(0, -1)));
  undo.dataset.key = "u";
  place.append(chips, undo, element("span", `kept ${quantityText(kept, data.unit)} of ${quantityText(data.total, data.unit)} (${shareText(kept, data.total)})`, "kept"));
}

/** @param {import("./contexts.js").FunctionSums} row */
function callsText(row) {
  return row.calls || row.callsAreBound ? `${row.callsAreBound ? "≥" : ""}${row.calls.toLocaleString("en")}` : "";
}

/** @param {any} data @param {import("./contexts.js").Context[]} contexts @param {"self" | "dominated"} by @param {string} metric of the address */
function functionsTable(data, contexts, by, metric) {
  const rows = functionSums(data, contexts).sort((a, b) => b[by] - a[by]), total = contexts[0].cost;
  const table = element("table", "", "data"), head = element("tr"), body = element("tbody");
  for (const [title, kind] of [["self", "num"], ["%", "num"], ["dominated", "num"], ["%", "num"], ["calls", "num"], ["name", "text"]]) {
    const cell = element("th", title, kind);
    cell.setAttribute("scope", "col");
    head.append(cell);
  }
  for (const row of rows.slice(0, rowsShownInFile)) {
    // The root and [folded] have no page, and are on no list.
    const isFunction = row.fn > 0, line = element("tr"), name = element("td", "", "name"), link = element(isFunction ? "a" : "span", nameOf(data, row), "fn");
    if (isFunction) {
      line.dataset.id = data.functions.id[row.fn];
      link.setAttribute("href", fileHash(`/block/${line.dataset.id}`, metric, []));
    }
    name.append(link);
    line.append(...[quantityText(row.self, data.unit), shareText(row.self, total), quantityText(row.dominated, data.unit), shareText(row.dominated, total),
      callsText(row)].map((text) => element("td", text, "num")), name);
    body.append(line);
  }
  const top = element("thead"), scroll = element("div", "", "scroll");
  top.append(head);
  table.append(top, body);
  scroll.append(table);
  return scroll;
}

/** Adds buttons after each name; the file does not contain them. */
function addListButtons() {
  for (const row of all("main [data-id]")) {
    const name = one("td.name", row) ?? row;
    if (one(".acts", row) || !one("a.fn", row)) continue;
    const acts = element("span", "", "acts");
    for (const list of /** @type {(keyof typeof listSigns)[]} */ (Object.keys(listSigns))) {
      const button = chipButton(listSigns[list], listTitles[list], () => putOnFileList(list, row.dataset.id ?? ""));
      button.setAttribute("name", list);
      acts.append(button);
    }
    name.append(acts);
  }
}

/** Applies the lists to the current page. @param {HTMLElement} main */
export function applyFileLists(main) {
  const { path, metric, lists } = fileAddress(), data = contextsOf(metric);
  if (!data) {
    one("section.lists")?.replaceChildren();
    if (lists.length) main.append(element("p", "The lists do not change this page: they add values up, and those of this metric are no sums.", "note"));
    return;
  }
  const contexts = lists.length ? filteredContexts(data, lists) : null;
  showChips(data, lists, contexts ? contexts[0].cost : data.total);
  if (contexts) {
    const hidden = contexts.reduce((sum, context) => sum + context.hidden, 0);
    const note = element("p", "", "note");
    if (path === "/flame") {
      const script = one(".flame-data", main);
      if (script) script.textContent = JSON.stringify(flameOf(data, contexts));
    } else if (path === "/self" || path === "/dominated") {
      one(".scroll", main)?.replaceWith(functionsTable(data, contexts, path === "/self" ? "self" : "dominated", metric));
      for (const old of all("p.note", main)) old.remove();
    } else {
      note.textContent = "The lists do not change this page: in a file they apply to Self, Dominated and Flame graph. ";
    }
    if (hidden) note.textContent += `${shareText(hidden, contexts[0].cost)} of what was kept is in contexts too small to stand in this file by themselves.`;
    if (note.textContent) main.append(note);
  }
  addListButtons();
}

export function startFileLists() {
  const form = /** @type {HTMLFormElement | null} */ (one("#lists"));
  // Keys and the flame graph's buttons send this.
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const by = event.submitter instanceof HTMLButtonElement ? event.submitter : /** @type {HTMLInputElement | null} */ (form.lastElementChild);
    if (by?.name) putOnFileList(by.name, by.value);
    form.replaceChildren();
  });
  // A link opens its page with the current lists.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#/']") : null, { lists } = fileAddress();
    if (!link || !lists.length || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { path, metric } = linkAddress(link);
    location.hash = fileHash(path, metric, lists);
  });
}
