// Which part of a flame graph is in view, told by frames and not by positions: costs grow while a
// program runs, and an address must show the same in the next run.

/** @typedef {import("./flame_data.js").Frame} Frame */
/** @typedef {import("./flame_data.js").FlameModel} FlameModel */
/** A frame, and which part of its width. @typedef {{around: Frame, left: number, right: number}} Part */

/** @param {Frame} frame */
function widthOf(frame) { return Math.max(frame.cost, 1); }

/** The narrowest frame that holds the view. @param {FlameModel} model @param {{left: number, right: number}} view @returns {Part} */
export function partInView(model, view) {
  const least = (view.right - view.left) * 1e-6;
  const holds = (/** @type {Frame} */ frame) => frame.start <= view.left + least && frame.start + frame.cost >= view.right - least;
  let around = model.down[0];
  for (let next = around.below.find(holds); next; next = around.below.find(holds)) around = next;
  return { around, left: (view.left - around.start) / widthOf(around), right: (view.right - around.start) / widthOf(around) };
}

/** Where a part is on the cost axis. @param {Part} part */
export function spanOf({ around, left, right }) {
  return { left: around.start + left * widthOf(around), right: around.start + right * widthOf(around) };
}

/** The frame of a newer graph, or the nearest caller that is still there. @param {FlameModel} model @param {Frame} frame */
export function sameFrame(model, frame) {
  for (let at = /** @type {Frame | null} */ (frame); at; at = at.parent) {
    const same = model.byKey.get(at.key);
    if (same) return same;
  }
  return model.down[0];
}

/** As in zoom=: a frame's key, and which part of it unless it is all. @param {Part} part */
export function zoomText({ around, left, right }) {
  if (left < 1e-4 && right > 1 - 1e-4) return around.key;
  return [around.key, left.toFixed(4), right.toFixed(4)].join(",");
}

/** Everything, if there is no such part. @param {FlameModel} model @param {string} text @returns {Part} */
export function partNamed(model, text) {
  const [key, ...ends] = text.split(","), around = model.byKey.get(key), [left, right] = ends.map(Number);
  if (!around) return { around: model.down[0], left: 0, right: 1 };
  return left >= 0 && right > left ? { around, left, right } : { around, left: 0, right: 1 };
}
