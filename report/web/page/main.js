// The page works without scripts; these make it quicker to use.
import { startAddress } from "./address.js";
import { all, copyText, one } from "./dom.js";
import { startFile } from "./file.js";
import { startFlames } from "./flame.js";
import { startGraph } from "./graph.js";
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
  startGraph();
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
const metricSelect = /** @type {HTMLSelectElement | null} */ (one(".metric select"));
metricSelect?.addEventListener("change", () => metricSelect.form?.requestSubmit());
if (!startFile(startContent)) {
  startContent();
  startSearch();
  startLive(startContent);
}
document.documentElement.dataset.ready = "";
