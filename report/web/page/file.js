// Pages in one file (--export html): links lead from one to another without a server.
import { all, element, one } from "./dom.js";
import { applyFileLists, fileAddress, fileHash, linkAddress, startFileLists } from "./file_lists.js";

/** @param {() => void} start sets up a new page @returns {boolean} whether this is such a file */
export function startFile(start) {
  const pages = one("#pages");
  if (!pages) return false;
  const select = /** @type {HTMLSelectElement | null} */ (one(".metric select"));
  const show = () => {
    const { path, metric } = fileAddress(), address = decodeURIComponent(fileHash(path, metric, []).slice(1));
    const main = one("main"), found = /** @type {HTMLTemplateElement | undefined} */ (all("template", pages).find((page) => page.dataset.page === address));
    if (!main) return;
    if (found) {
      main.replaceChildren(document.importNode(found.content, true));
    } else {
      main.replaceChildren(element("h1", "Not in this file"), element("p",
        "This file holds the pages of the most expensive functions. fble-prof-report --serve has them all.", "empty"));
    }
    if (select) select.value = metric;
    // Other pages are shown in the same metric.
    for (const link of all(".menu a, a.brand")) {
      const to = linkAddress(link).path;
      link.setAttribute("href", fileHash(to, metric, []));
      if (to === path && !link.matches(".brand")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    window.scrollTo(0, 0);
    applyFileLists(main);
    start();
  };
  window.addEventListener("hashchange", show);
  select?.form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const { path, lists } = fileAddress();
    location.hash = fileHash(path, select.value, lists);
  });
  startFileLists();
  show();
  return true;
}
