// An interactive flame graph: click, wheel, drag and keys.
import { all, element, isTyping, one } from "./dom.js";
import { costOfMatches, flameModel, quantityText, shareText } from "./flame_data.js";
import { FlameDrawing } from "./flame_draw.js";
import { setFunction } from "./rows.js";

/** @typedef {import("./flame_data.js").Frame} Frame */

const colourKey = "fbleprof-flame-colour";

/**
 * What the user looks at, told by functions and not by positions: costs grow while a program runs.
 * @typedef {object} Kept
 * @property {string[]} around the path of the narrowest frame that holds all of the view
 * @property {number} left in parts of that frame
 * @property {number} right
 * @property {string[] | null} chosen
 */
/** @typedef {{place: HTMLElement, renew: () => void, end: () => void}} Started */
/** @type {Started[]} */
let started = [];

/** @param {HTMLElement} place @returns {Started | undefined} */
function startOne(place) {
  const canvas = /** @type {HTMLCanvasElement} */ (one("canvas", place)), tip = one(".flame-tip", place);
  const data = place.parentElement && one(".flame-data", place.parentElement);
  if (!canvas || !tip || !data) return;
  const isSmall = place.classList.contains("small"), state = place.dataset.state ?? "";
  const mostRows = isSmall ? 16 : 400;
  let model = flameModel(JSON.parse(data.textContent ?? "{}"));
  if (!model.down.length) return;
  const ending = new AbortController(), { signal } = ending;
  let drawing = new FlameDrawing(canvas, model, mostRows);
  const whole = () => ({ left: 0, right: Math.max(model.down[0].cost, 1) });
  /** @type {import("./flame_draw.js").FlameView} */
  const view = { ...whole(), colour: "module", hits: null, chosen: null, hovered: null, deepestShown: 0 };
  let isWaiting = false;
  const draw = () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => { isWaiting = false; drawing.draw(view); });
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
  /** @param {Frame | null} frame */
  const choose = (frame) => {
    const id = frame ? model.functions.id[frame.fn] : "";
    view.chosen = frame;
    draw();
    setFunction(id);
    figures.textContent = frame ? ` ${quantityText(frame.cost, model.unit)} (${shareText(frame.cost, model.total)})` : "";
    // The buttons of a function stay while its figures change.
    if (detail.dataset.of === id) return;
    detail.dataset.of = id;
    detail.replaceChildren();
    if (!frame) return;
    const isFile = Boolean(one("#pages")), name = element("a", model.functions.name[frame.fn], "fn");
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
    Object.assign(view, whole(), { chosen: null, hovered: null, hits: null });
    showPath();
    search();
    show(view.left, view.right);
  };
  /** Fetches the parts of a context that were too small to be sent. @param {string} address @param {boolean} push */
  const fetchAt = async (address, push) => {
    const separator = address.includes("?") ? "&" : "?";
    const answer = await fetch(`${address}${separator}format=json`).catch(() => null);
    if (!answer?.ok) return;
    const fresh = await answer.json();
    if (push && !isSmall) history.pushState({ flame: address }, "", address);
    replace(fresh);
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
  const lookInto = (frame) => {
    hideTip();
    if (!isSmall) history.pushState({ zoom: [frame.start, frame.start + frame.cost] }, "");
    zoomTo(frame);
    if (frame.more && model.mode === "tree" && !one("#pages")) fetchAt(`/flame?at=${frame.more}${state}`, !isSmall);
  };
  const goBack = () => { if (view.left > 0 || view.right < whole().right) zoomTo(null); else choose(null); };

  const searchField = /** @type {HTMLInputElement | null} */ (isSmall ? null : one(".flame-search"));
  const search = () => {
    const output = one(".flame-found");
    view.hits = null;
    if (output) output.textContent = "";
    if (searchField?.value) {
      let wanted = /$^/;
      try { wanted = new RegExp(searchField.value, "i"); } catch { /* not finished yet */ }
      const found = costOfMatches(model, wanted);
      view.hits = found.hits;
      if (output) output.textContent = `${quantityText(found.cost, model.unit)} (${shareText(found.cost, model.total)})`;
    }
    draw();
  };
  searchField?.addEventListener("input", search);

  const colour = /** @type {HTMLSelectElement | null} */ (isSmall ? null : one(".flame-colour"));
  if (model.hasBase) {
    view.colour = "change";
    colour?.append(new Option("change", "change", true, true));
  } else {
    // If there is only one module, its colour says nothing.
    view.colour = model.modules.filter(Boolean).length > 1 ? "module" : "function";
    try { view.colour = localStorage.getItem(colourKey) ?? view.colour; } catch { /* as it is */ }
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
      if (drag.moved) show(drag.left - moved, drag.right - moved);
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
    if (event.shiftKey) { location.href = pivotAddress(frame); return; }
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
  }, { passive: false });

  /** @param {string} key */
  const move = (key) => {
    const at = view.chosen ?? model.down[0];
    const isAway = (key === "ArrowDown") === (at.side === "down");
    if (key === "ArrowUp" || key === "ArrowDown") return choose((isAway ? at.below[0] : at.parent) ?? (at.depth === 0 ? model.up[0]?.below[0] : null) ?? at);
    const beside = at.parent?.below ?? [at];
    choose(beside[beside.indexOf(at) + (key === "ArrowRight" ? 1 : -1)] ?? at);
  };
  canvas.addEventListener("focus", () => { if (!view.chosen) choose(model.down[0]); });
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
    if (isSmall || isTyping(event.target) || event.ctrlKey || event.metaKey) return;
    const inverted = /** @type {HTMLAnchorElement[]} */ (Array.from(document.querySelectorAll(".segments a")));
    if (event.key === "i") inverted.find((link) => !link.hasAttribute("aria-current"))?.click();
    if (event.key === "p" && view.chosen) location.href = pivotAddress(view.chosen);
    if (event.key === "Escape" && event.target !== canvas) goBack();
  }, { signal });
  if (!isSmall) {
    window.addEventListener("popstate", (event) => {
      const zoom = event.state?.zoom;
      if (zoom) show(zoom[0], zoom[1]);
      else if (one("#pages")) zoomTo(null);
      else fetchAt(event.state?.flame ?? location.pathname + location.search, false);
    }, { signal });
  }
  const resizes = new ResizeObserver(draw);
  resizes.observe(canvas);
  window.addEventListener("themechange", draw, { signal });
  showPath();
  show(0, whole().right);

  /** @param {Frame | null} frame */
  const pathOf = (frame) => {
    /** @type {string[]} */
    const path = [];
    for (let at = frame; at?.parent; at = at.parent) path.unshift(`${at.side} ${model.functions.id[at.fn]}`);
    return path;
  };
  /** As far as the path still exists. @param {string[]} path */
  const frameOf = (path) => {
    let at = (path[0]?.startsWith("up") ? model.up : model.down)[0];
    for (const step of path) {
      const next = at.below.find((frame) => `${frame.side} ${model.functions.id[frame.fn]}` === step);
      if (!next) break;
      at = next;
    }
    return at;
  };
  const remember = () => {
    const least = (view.right - view.left) * 1e-6;
    const holds = (/** @type {Frame} */ frame) => frame.start <= view.left + least && frame.start + frame.cost >= view.right - least;
    let around = model.down[0];
    for (let next = around.below.find(holds); next; next = around.below.find(holds)) around = next;
    const size = Math.max(around.cost, 1);
    return {
      around: pathOf(around), left: (view.left - around.start) / size, right: (view.right - around.start) / size,
      chosen: view.chosen && pathOf(view.chosen),
    };
  };
  /** @param {Kept} kept */
  const restore = (kept) => {
    if (kept.chosen) choose(frameOf(kept.chosen));
    const around = frameOf(kept.around), size = Math.max(around.cost, 1);
    show(around.start + kept.left * size, around.start + kept.right * size);
  };
  // The page has newer data.
  const renew = () => {
    const fresh = JSON.parse(data.textContent ?? "{}"), kept = remember();
    if (!fresh.down?.parent.length) return;
    replace(fresh);
    restore(kept);
  };
  return { place, renew, end: () => { ending.abort(); resizes.disconnect(); } };
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
