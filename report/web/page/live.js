// A running program: the current page is fetched again when its file has grown. Scroll position,
// order, lists, the current row, and what a flame graph shows are kept.
import { one } from "./dom.js";
import { rememberFlames, restoreFlames } from "./flame.js";
import { currentId, restoreRow } from "./rows.js";

/** @param {() => void} start sets up a new page */
export function startLive(start) {
  const badge = one("#live");
  if (!badge?.classList.contains("live")) return;
  const pause = one("#pause");
  let isPaused = false, isOld = false, isBusy = false;

  const renew = async () => {
    if (isBusy) { isOld = true; return; }
    isBusy = true;
    isOld = false;
    const id = currentId(), response = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
    // Elements that the user is about to use are not replaced.
    const isInUse = Boolean(one("dialog[open], .flame canvas:active, .flame-search:focus, .folded, details.others[open]"));
    if (response?.ok && !isPaused && !isInUse) {
      const flames = rememberFlames();
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const part of ["main", ".lists", "footer"]) {
        const now = one(part), fresh = one(part, page);
        if (now && fresh) now.replaceWith(document.importNode(fresh, true));
      }
      restoreRow(id);
      start();
      restoreFlames(flames);
    }
    isBusy = false;
    if (isOld && !isPaused) renew();
  };

  const stream = new EventSource("/events");
  stream.addEventListener("changed", (event) => {
    const said = JSON.parse(event.data);
    if (!said.live) {
      badge.classList.remove("live", "paused");
      badge.textContent = "ended";
      if (pause) pause.hidden = true;
      stream.close();
    }
    if (isPaused) isOld = true;
    else renew();
  });
  window.addEventListener("pagehide", () => stream.close());
  if (!pause) return;
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "go on" : "pause";
    badge.classList.toggle("paused", isPaused);
    if (!isPaused && isOld) renew();
  });
}
