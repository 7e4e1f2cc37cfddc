// A flame graph's data: frames with a position and a depth, made from the server's columns
// (docs/PAGE.md).

/**
 * @typedef {{index: number, side: string, parent: Frame | null, below: Frame[], fn: number, cost: number, own: number,
 *   calls: number, flags: number, base: number, more: string, start: number, depth: number}} Frame
 * @typedef {{name: string[], id: string[], module: number[], kind: string[]}} FunctionColumns
 * @typedef {{unit: string, metric: string, total: number, mode: string, path: string[][], functions: FunctionColumns,
 *   modules: string[], down: Frame[], up: Frame[], hasBase: boolean}} FlameModel
 */

/** @param {any} columns @param {string} side @returns {Frame[]} */
function framesOf(columns, side) {
  if (!columns) return [];
  /** @type {Frame[]} */
  const frames = columns.parent.map((/** @type {number} */ parent, /** @type {number} */ i) => ({
    index: i, side, parent: null, below: [], fn: columns.function[i], cost: columns.cost[i], own: columns.own[i],
    calls: columns.calls[i], flags: columns.flags[i], base: columns.base ? columns.base[i] : 0,
    more: columns.more[i] ?? "", start: 0, depth: 0,
  }));
  frames.forEach((frame, i) => {
    if (i === 0) return;
    frame.parent = frames[columns.parent[i]];
    frame.parent.below.push(frame);
  });
  // Parents come before their children, the most expensive child first.
  for (const frame of frames) {
    let start = frame.start;
    for (const child of frame.below) {
      child.start = start;
      child.depth = frame.depth + 1;
      start += child.cost;
    }
  }
  return frames;
}

/** @param {any} data @returns {FlameModel} */
export function flameModel(data) {
  return { unit: data.unit, metric: data.metric, total: data.total, mode: data.mode, path: data.path ?? [],
    functions: data.functions, modules: data.modules, down: framesOf(data.down, "down"), up: framesOf(data.up, "up"),
    hasBase: Boolean(data.down.base) };
}

/** @param {FlameModel} model */
export function deepest(model) {
  const depth = (/** @type {Frame[]} */ frames) => frames.reduce((most, frame) => Math.max(most, frame.depth), 0);
  return { up: depth(model.up), down: depth(model.down) };
}

/** The cost of frames whose function matches; frames below a match count once. @param {FlameModel} model @param {RegExp} wanted */
export function costOfMatches(model, wanted) {
  const hits = model.functions.name.map((name) => wanted.test(name));
  let cost = 0;
  for (const frame of model.down) {
    let isBelow = false;
    for (let up = frame.parent; up && !isBelow; up = up.parent) isBelow = hits[up.fn];
    if (hits[frame.fn] && !isBelow) cost += frame.cost;
  }
  return { hits, cost };
}

/** Formats figures like the server. @param {number} value @param {string} unit */
export function quantityText(value, unit) {
  const scaled = (/** @type {[number, string][]} */ scales) => {
    if (!value) return "0";
    const [size, name] = scales.find((scale) => value >= scale[0]) ?? [1, scales[scales.length - 1][1]], shown = value / size;
    return `${size === 1 ? shown : shown.toFixed(shown >= 100 ? 0 : shown >= 10 ? 1 : 2)} ${name}`;
  };
  if (unit === "ns") return scaled([[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]]);
  if (unit === "bytes") return scaled([[2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]]);
  return value.toLocaleString("en");
}

/** @param {number} part @param {number} whole */
export function shareText(part, whole) { return whole ? `${(100 * part / whole).toFixed(1)}%` : "-"; }
