// The page works without scripts; these make it quicker to use.
import { startAddress } from "./address.js";
import { all, copyText, one } from "./dom.js";
import { startFile } from "./file.js";
import { startFlames } from "./flame.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startRows } from "./rows.js";
import { startSearch } from "./search.js";
import { startTheme } from "./theme.js";
import { startTree } from "./tree.js";

/** Sets up the content of <main>, each time it is replaced. */
function startContent() {
  for (const part of all(".scripted")) part.hidden = false;
  startFlames();
  startTree();
}

startTheme();
startAddress();
startRows();
startKeys();
const copy = one("#copy");
if (copy) {
  copy.hidden = false;
  copy.addEventListener("click", () => copyText(one("#command")?.textContent ?? "", "command"));
}
// A call graph may be wider than the screen: it begins at its most expensive function.
const graph = one("svg.graph"), start = graph && one("[data-function]", graph);
if (graph?.parentElement && start) {
  const box = start.getBoundingClientRect(), place = graph.parentElement.getBoundingClientRect();
  graph.parentElement.scrollLeft = box.left + box.width / 2 - place.left - place.width / 2;
}
const metricSelect = /** @type {HTMLSelectElement | null} */ (one(".metric select"));
metricSelect?.addEventListener("change", () => metricSelect.form?.requestSubmit());
if (!startFile(startContent)) {
  startContent();
  startSearch();
  startLive(startContent);
}
document.documentElement.dataset.ready = "";
