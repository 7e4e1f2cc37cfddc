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
// A running program may get a second metric, and then a menu of them.
document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.matches(".metric select")) event.target.form?.requestSubmit();
});
if (!startFile(startContent)) {
  startContent();
  startSearch();
  startLive(startContent);
}
document.documentElement.dataset.ready = "";
