// A running program: the current page is fetched again when its file has grown. Only what changed is
// replaced: scroll position, order, lists, the current row, and what a flame graph shows are kept.
import { one } from "./dom.js";
import { patch } from "./patch.js";
import { currentRowId, restoreRow } from "./rows.js";
import { openAgain } from "./tree.js";

const askAgainDelay = 3000;  // ms

async function fetchFresh() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok) return null;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  await openAgain(page);
  return page;
}

/** Until no button is pressed: a click needs the same element from beginning to end. */
async function untilReleased() {
  while (one(":active")) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** @param {() => void} start sets up the new content */
export function startLive(start) {
  const badge = one("#live"), word = badge && one("span", badge), pause = one("#pause");
  if (!badge?.classList.contains("live") || !word || !pause) return;
  let isPaused = false, isOld = false, isBusy = false, isOver = false;

  const renew = async () => {
    if (isBusy) { isOld = true; return; }
    isBusy = true;
    isOld = false;
    const address = location.href, page = await fetchFresh().catch(() => null);
    await untilReleased();
    isBusy = false;
    if (isPaused || location.href !== address) isOld = true;
    else if (page) show(page);
    else askAgain();
    if (isOld && !isPaused) renew();
  };

  /** @param {Document} page */
  const show = (page) => {
    const id = currentRowId();
    for (const part of [".controls", "form.metric", "main", ".lists", "footer"]) {
      const now = one(part), fresh = one(part, page);
      if (now && fresh) patch(now, fresh);
      else now?.remove();
      if (!now && fresh?.matches("form.metric")) one("#theme")?.before(document.importNode(fresh, true));
    }
    restoreRow(id);
    start();
  };

  /** @type {EventSource | null} */
  let stream = null;
  const closeStream = () => {
    stream?.close();
    stream = null;
  };
  /** Its first event is the present state: if that is new, the page is renewed. */
  const openStream = () => {
    const opened = stream = new EventSource("/events");
    opened.addEventListener("open", () => { word.textContent = "live"; });
    // The browser connects again; that it cannot is worth a word.
    opened.addEventListener("error", () => setTimeout(() => {
      if (stream === opened && opened.readyState !== EventSource.OPEN) word.textContent = "no connection";
    }, 5000));
    opened.addEventListener("changed", (event) => {
      if (event.data === badge.dataset.state) return;
      badge.dataset.state = event.data;
      isOver = !JSON.parse(event.data).live;
      if (isOver) {
        badge.classList.remove("live", "paused");
        badge.textContent = "ended";
        pause.hidden = !isPaused;
        closeStream();
      }
      if (isPaused) isOld = true;
      else renew();
    });
  };
  // A browser has six connections for all tabs of a server: one that is not seen must not keep one.
  const followVisibility = () => {
    if (document.visibilityState === "hidden") closeStream();
    else if (!stream && !isOver) openStream();
  };
  /** The page could not be fetched: a new stream begins with the present state, which is then new. */
  const askAgain = () => {
    badge.dataset.state = "";
    setTimeout(() => {
      if (badge.dataset.state) return;
      closeStream();
      isOver = false;
      followVisibility();
    }, askAgainDelay);
  };
  followVisibility();
  document.addEventListener("visibilitychange", followVisibility);
  window.addEventListener("pagehide", closeStream);
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "go on" : "pause";
    pause.hidden = isOver && !isPaused;
    badge.classList.toggle("paused", isPaused && !isOver);
    if (!isPaused && isOld) renew();
  });
}
