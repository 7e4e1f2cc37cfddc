// An interactive flame graph: click, wheel, drag and keys.
import { addressParameters, changeAddress, changedQuery } from "./address.js";
import { all, element, isForPage, one } from "./dom.js";
import { flameModel, quantityText, shareText } from "./flame_data.js";
import { FlameDrawing } from "./flame_draw.js";
import { foundText, matchesOf, parsedExpression } from "./flame_highlight.js";
import { partInView, partNamed, sameFrame, spanOf, zoomText } from "./flame_place.js";
import { setFunction } from "./rows.js";

/** @typedef {import("./flame_data.js").Frame} Frame */

const colourKey = "fbleprof-flame-colour";
const addressDelay = 200;  // ms after a movement; browsers limit changes of the address

/** @typedef {{place: HTMLElement, renew: () => void, end: () => void}} Started */
/** @type {Started[]} */
let started = [];

/** @param {HTMLElement} place @returns {Started | undefined} */
function startOne(place) {
  const canvas = /** @type {HTMLCanvasElement} */ (one("canvas", place)), tip = one(".flame-tip", place);
  const data = place.parentElement && one(".flame-data", place.parentElement);
  if (!canvas || !tip || !data) return;
  const isSmall = place.classList.contains("small"), state = place.dataset.state ?? "";
  const isFile = Boolean(one("#pages"));  // has no graphs around a function
  const mostRows = isSmall ? 16 : 400;
  let model = flameModel(JSON.parse(data.textContent ?? "{}"));
  if (!model.down.length) return;
  const ending = new AbortController(), { signal } = ending;
  let drawing = new FlameDrawing(canvas, model, mostRows);
  const whole = () => ({ left: 0, right: Math.max(model.down[0].cost, 1) });
  /** @type {import("./flame_draw.js").FlameView} */
  const view = { ...whole(), colour: "module", hits: null, chosen: null, hovered: null, deepestShown: 0 };
  // The contexts where the graph on the screen, and the one in the page's data, begin; "" is the root.
  let shownAt = addressParameters().get("at") ?? "", dataAt = shownAt;
  let isWaiting = false;
  const draw = () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => { isWaiting = false; drawing.draw(view); tellFound(); });
  };

  const detail = element("p", "", "flame-detail actions");
  if (!isSmall) place.after(detail);

  /** @param {Frame} frame */
  const describe = (frame) => {
    const name = model.functions.name[frame.fn], module = model.modules[model.functions.module[frame.fn]];
    const lines = [name, `${quantityText(frame.cost, model.unit)}  ${shareText(frame.cost, model.total)} of all`];
    if (frame.own) lines[1] += `   self ${quantityText(frame.own, model.unit)}`;
    if (frame.calls) lines.push(`${frame.calls.toLocaleString("en")} calls, ${quantityText(Math.round(frame.cost / frame.calls), model.unit)} each`);
    if (model.hasBase) lines.push(`before ${quantityText(frame.base, model.unit)}${frame.flags & 16 ? "  ~ no more than chance explains" : ""}`);
    if (module) lines.push(module);
    if (frame.flags & 1) lines.push("at least: part of the cost is charged to an outer call (folded recursion, or a callback)");
    if (frame.flags & 2) lines.push("reached by a tail call");
    if (frame.flags & 8) lines.push("· no hook: sampled, calls not counted");
    if (frame.flags & 4) lines.push("calls back to a context further up");
    return lines.join("\n");
  };

  const pivotAddress = (/** @type {Frame} */ frame) => `/flame?pivot=${model.functions.id[frame.fn]}${state}`;
  const figures = element("span");
  const chosenId = () => view.chosen && canvas.isConnected ? model.functions.id[view.chosen.fn] : "";
  /** Shows a frame as the chosen one, but keys keep their function: the user did not choose it. @param {Frame | null} frame */
  const mark = (frame) => {
    view.chosen = frame;
    draw();
    const id = chosenId();
    figures.textContent = frame ? ` ${quantityText(frame.cost, model.unit)} (${shareText(frame.cost, model.total)})` : "";
    // The buttons of a function stay while its figures change.
    if (detail.dataset.of === id) return;
    detail.dataset.of = id;
    detail.replaceChildren();
    if (!frame) return;
    const name = element("a", model.functions.name[frame.fn], "fn");
    name.setAttribute("href", `${isFile ? "#" : ""}/block/${id}${state.replace("&", "?")}`);
    detail.append(name, figures);
    for (const [list, sign, title] of [["sel", "+ only through it", "only paths through it"], ["exc", "− without it", "no path through it"], ["fold", "~ fold", "charge it to its callers"]]) {
      const button = /** @type {HTMLButtonElement} */ (element("button", sign, list));
      button.setAttribute("form", "lists");
      button.name = list;
      button.value = id;
      button.title = title;
      detail.append(button);
    }
    if (!isFile) {
      const pivot = element("a", "callers and callees", "button");
      pivot.setAttribute("href", pivotAddress(frame));
      detail.append(pivot);
    }
  };
  /** @param {Frame | null} frame */
  const choose = (frame) => {
    mark(frame);
    setFunction(frame ? chosenId : null);
  };

  /** @param {number} left @param {number} right */
  const show = (left, right) => {
    const all = whole(), least = all.right / 1e6, span = Math.max(Math.min(right - left, all.right), least);
    view.left = Math.max(0, Math.min(left, all.right - span));
    view.right = view.left + span;
    place.dataset.left = String(view.left);
    place.dataset.right = String(view.right);
    draw();
  };
  /** @param {Frame | null} frame */
  const zoomTo = (frame) => frame ? show(frame.start, frame.start + Math.max(frame.cost, 1)) : show(0, whole().right);

  /** @param {any} fresh */
  const replace = (fresh) => {
    model = flameModel(fresh);
    drawing = new FlameDrawing(canvas, model, mostRows);
    Object.assign(view, whole(), { chosen: null, hovered: null });
    showPath();
    search();
    show(view.left, view.right);
  };
  /** The graph from a context on. @param {string} at */
  const fetchFrom = async (at) => {
    if (at === dataAt) return JSON.parse(data.textContent ?? "{}");
    const query = changedQuery(location.search.slice(1), { at, zoom: "", highlight: "", format: "json" });
    const answer = await fetch(`/flame?${query}`).catch(() => null);
    return answer?.ok ? answer.json() : null;
  };
  let asked = 0;
  /** @param {string} at @returns {Promise<boolean>} */
  const openFrom = async (at) => {
    const mine = ++asked, fresh = await fetchFrom(at);
    if (!fresh || mine !== asked) return false;
    shownAt = at;
    replace(fresh);
    choose(at ? model.down[0] : null);
    return true;
  };
  const showPath = () => {
    const path = one(".flame-path");
    if (!path || isSmall) return;
    path.replaceChildren();
    model.path.forEach(([name, at], i) => {
      if (i) path.append(" → ");
      if (i + 1 === model.path.length) return path.append(name);
      const link = element("a", name);
      link.setAttribute("href", i ? `/flame?at=${at}${state}` : `/flame${state.replace("&", "?")}`);
      path.append(link);
    });
  };

  // Keys and zooming leave the pointer on a frame that is not meant. What the tip says is still read aloud.
  const hideTip = () => tip.classList.add("hidden");
  /** @param {Frame} frame */
  const lookInto = async (frame) => {
    hideTip();
    zoomTo(frame);
    // Parts of it may have been too small to be sent.
    const hasMore = frame.more && model.mode === "tree" && !isFile;
    if (hasMore && await openFrom(frame.more)) changeAddress({ at: shownAt, zoom: "" }, true);
    else changeAddress({ zoom: frame.key }, true);
  };
  const goBack = async () => {
    if (view.left > 0 || view.right < whole().right) {
      zoomTo(null);
      changeAddress({ zoom: "" }, true);
    } else if (shownAt && await openFrom("")) {
      changeAddress({ at: "" }, true);
    } else {
      choose(null);
    }
  };

  const searchField = /** @type {HTMLInputElement | null} */ (isSmall ? null : one(".flame-search"));
  const foundOutput = isSmall ? null : one(".flame-found");
  /** @type {import("./flame_highlight.js").Matches | null} */
  let found = null;
  /** @type {import("./flame_highlight.js").Matches | null} */
  let foundEverywhere = null;
  /** @param {RegExp} wanted */
  const searchEverywhere = async (wanted) => {
    const mine = found, fresh = shownAt ? await fetchFrom("") : null;
    if (mine === found) foundEverywhere = fresh ? matchesOf(flameModel(fresh), wanted) : found;
    tellFound();
  };
  const tellFound = () => {
    if (!found || !foundOutput) return;
    const isWhole = !shownAt && view.left <= 0 && view.right >= whole().right;
    const text = foundText(model, found, foundEverywhere, view, isWhole);
    if (foundOutput.textContent !== text) foundOutput.textContent = text;
  };
  const search = () => {
    if (!searchField || !foundOutput) return;
    const wanted = searchField.value ? parsedExpression(searchField.value) : null, isBad = typeof wanted === "string";
    searchField.setAttribute("aria-invalid", String(isBad));
    foundOutput.classList.toggle("bad", isBad);
    foundOutput.textContent = isBad ? `no regular expression: ${wanted}` : "";
    found = wanted instanceof RegExp ? matchesOf(model, wanted) : null;
    foundEverywhere = shownAt ? null : found;
    view.hits = found && found.hits;
    tellFound();
    if (wanted instanceof RegExp && shownAt) searchEverywhere(wanted);
    draw();
  };
  let noting = 0;
  const noteInAddress = () => {
    clearTimeout(noting);
    noting = window.setTimeout(() => {
      changeAddress({ zoom: zoomText(partInView(model, view)), ...(searchField && { highlight: searchField.value }) }, false);
    }, addressDelay);
  };
  searchField?.addEventListener("input", () => { search(); noteInAddress(); });

  const colour = /** @type {HTMLSelectElement | null} */ (isSmall ? null : one(".flame-colour"));
  if (model.hasBase) {
    view.colour = "change";
    colour?.append(new Option("change", "change", true, true));
  } else {
    // If there is only one module, its colour says nothing.
    view.colour = model.modules.filter(Boolean).length > 1 ? "module" : "function";
    try {
      const stored = localStorage.getItem(colourKey);
      if (stored && stored !== "change") view.colour = stored;  // that is for comparisons only
    } catch { /* as it is */ }
    if (colour) colour.value = view.colour;
  }
  colour?.addEventListener("change", () => {
    view.colour = colour.value;
    try { localStorage.setItem(colourKey, colour.value); } catch { /* only here */ }
    draw();
  });

  /** @type {{x: number, left: number, right: number, moved: boolean} | null} */
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, left: view.left, right: view.right, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && event.buttons === 1) {
      const moved = (event.clientX - drag.x) / canvas.clientWidth * (drag.right - drag.left);
      if (Math.abs(event.clientX - drag.x) > 4) drag.moved = true;
      if (drag.moved) { show(drag.left - moved, drag.right - moved); noteInAddress(); }
    }
    const frame = drawing.frameAt(event.offsetX, event.offsetY, view);
    if (frame !== view.hovered) { view.hovered = frame; draw(); }
    tip.classList.remove("hidden");
    tip.textContent = frame ? describe(frame) : "";
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 18}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.textContent = ""; view.hovered = null; draw(); });
  canvas.addEventListener("click", (event) => {
    const wasDrag = drag?.moved;
    drag = null;
    if (wasDrag) return;
    const frame = drawing.frameAt(event.offsetX, event.offsetY, view);
    if (!frame) return;
    if (event.shiftKey && !isFile) { location.href = pivotAddress(frame); return; }
    choose(frame);
    lookInto(frame);
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;  // the page scrolls
    event.preventDefault();
    const span = view.right - view.left, at = view.left + event.offsetX / canvas.clientWidth * span;
    if (event.ctrlKey) {
      const factor = Math.exp(event.deltaY / 200);
      show(at - (at - view.left) * factor, at + (view.right - at) * factor);
    } else {
      show(view.left + event.deltaX / canvas.clientWidth * span, view.right + event.deltaX / canvas.clientWidth * span);
    }
    noteInAddress();
  }, { passive: false });

  /** @param {string} key */
  const move = (key) => {
    const at = view.chosen ?? model.down[0];
    const isAway = (key === "ArrowDown") === (at.side === "down");
    if (key === "ArrowUp" || key === "ArrowDown") {
      const next = (isAway ? at.below[0] : at.parent) ?? (at.depth === 0 ? model.up[0]?.below[0] : null) ?? at;
      // The callers' root is the same function as the callees', and only that one is drawn.
      return choose(next === model.up[0] ? model.down[0] : next);
    }
    const beside = at.parent?.below ?? [at];
    choose(beside[beside.indexOf(at) + (key === "ArrowRight" ? 1 : -1)] ?? at);
  };
  canvas.addEventListener("focus", () => { if (!view.chosen) mark(model.down[0]); });
  canvas.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) move(event.key);
    else if (event.key === "Enter" && view.chosen) lookInto(view.chosen);
    else if (event.key === "Escape") goBack();
    else return;
    if (!isSmall) hideTip();  // the line below the graph shows the chosen frame
    tip.textContent = view.chosen ? describe(view.chosen) : "";
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (isSmall || !isForPage(event)) return;
    const inverted = /** @type {HTMLAnchorElement[]} */ (Array.from(document.querySelectorAll(".segments a")));
    if (event.key === "i") inverted.find((link) => !link.hasAttribute("aria-current"))?.click();
    if (event.key === "p" && view.chosen && !isFile) location.href = pivotAddress(view.chosen);
    if (event.key === "Escape" && event.target !== canvas) goBack();
  }, { signal });
  /** Shows what the address says. */
  const follow = async () => {
    const parameters = addressParameters(), at = parameters.get("at") ?? "";
    if (at !== shownAt && !await openFrom(at)) return;
    if (searchField) searchField.value = parameters.get("highlight") ?? "";
    search();
    const part = partNamed(model, parameters.get("zoom") ?? ""), { left, right } = spanOf(part);
    if (part.around.key || at) choose(part.around);
    show(left, right);
  };
  window.addEventListener("popstate", follow, { signal });
  const resizes = new ResizeObserver(draw);
  resizes.observe(canvas);
  window.addEventListener("themechange", draw, { signal });
  showPath();
  follow();

  // The page has newer data.
  const renew = () => {
    const fresh = JSON.parse(data.textContent ?? "{}"), { chosen } = view, part = partInView(model, view);
    if (!fresh.down?.parent.length) return;
    dataAt = shownAt = addressParameters().get("at") ?? "";
    replace(fresh);
    if (chosen) mark(sameFrame(model, chosen));
    const { left, right } = spanOf({ ...part, around: sameFrame(model, part.around) });
    show(left, right);
  };
  return { place, renew, end: () => { ending.abort(); clearTimeout(noting); resizes.disconnect(); } };
}

/** Draws the page's flame graphs; those that are drawn already, with their newer data. */
export function startFlames() {
  for (const old of started) if (!old.place.isConnected) old.end();
  const before = started.filter((flame) => flame.place.isConnected);
  started = [];
  for (const place of all(".flame")) {
    const known = before.find((flame) => flame.place === place), flame = known ?? startOne(place);
    known?.renew();
    if (flame) started.push(flame);
  }
}
