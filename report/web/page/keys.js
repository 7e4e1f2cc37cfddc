// Keys, and the dialog that lists them.
import { all, element, isForPage, isTyping, one } from "./dom.js";
import { copyName, moveRow, openRow, putOnList } from "./rows.js";

/** @type {[string, string][]} */
const keyHelp = [
  ["o s d t f", "overview, self, dominated, tree, flame graph (the others: first letters in the menu)"],
  ["j k", "next and previous row"],
  ["Enter", "open the row's function"],
  ["+ - ~", "only paths through it, without it, folded into its callers"],
  ["u", "take the last of these back"],
  ["c", "copy the whole name"],
  ["/", "find a function"],
  ["1 … 9", "metric"],
  ["i", "turn the flame graph over"],
  ["p", "flame graph around the function"],
  ["?", "this"],
];

function showHelp() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "keys");
  dialog.append(element("h2", "Keys"));
  const list = element("div", "", "keys");
  for (const [keys, what] of keyHelp) {
    if ("ip".includes(keys) && one("#pages")) continue;  // a file has no such graphs
    const left = element("span");
    for (const key of keys.split(" ")) left.append(key === "…" ? " … " : element("kbd", key), " ");
    list.append(left, element("span", what));
  }
  const form = document.createElement("form");
  form.method = "dialog";
  form.append(element("button", "close"));
  dialog.append(list, element("p"), form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {number} number */
function chooseMetric(number) {
  const select = /** @type {HTMLSelectElement | null} */ (one(".metric select"));
  if (!select || number > select.options.length) return;
  select.selectedIndex = number - 1;
  select.form?.requestSubmit();
}

/** @type {Record<string, () => void>} */
const keyActions = {
  j: () => moveRow(1), k: () => moveRow(-1), Enter: openRow, c: copyName, "?": showHelp,
  "+": () => putOnList("sel"), "-": () => putOnList("exc"), "~": () => putOnList("fold"),
  "/": () => one(".find input")?.focus(),
};

export function startKeys() {
  const help = one("#help");
  if (help) {
    help.hidden = false;
    help.addEventListener("click", showHelp);
  }
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    if (isTyping(event.target) && event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
    if (!isForPage(event)) return;
    // Enter on a link or button is left to the browser.
    if (event.key === "Enter" && event.target instanceof Element && event.target.closest("a, button, summary, canvas")) return;
    const action = keyActions[event.key];
    const link = all("[data-key]").find((one) => one.dataset.key === event.key);
    if (action) action();
    else if (link) link.click();
    else if (event.key >= "1" && event.key <= "9") chooseMetric(Number(event.key));
    else return;
    event.preventDefault();
  });
}
