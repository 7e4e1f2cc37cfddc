// A flame graph's data: frames with a position and a depth, made from the server's columns
// (docs/PAGE.md).

/**
 * A frame's key, its name in addresses, is the same in every run: a hash of the functions on its path; "" is the root.
 * @typedef {{index: number, side: string, parent: Frame | null, below: Frame[], fn: number, cost: number, own: number,
 *   calls: number, flags: number, base: number, more: string, start: number, depth: number, key: string}} Frame
 * @typedef {{name: string[], id: string[], module: number[], kind: string[]}} FunctionColumns
 * @typedef {{unit: string, metric: string, total: number, mode: string, path: string[][], functions: FunctionColumns,
 *   modules: string[], down: Frame[], up: Frame[], byKey: Map<string, Frame>, hasBase: boolean}} FlameModel
 */

/** @param {string} text @param {number} [seed] */
export function hashOf(text, seed = 0) {
  let hash = 2166136261 ^ seed;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

/** @param {Frame} parent @param {string} side @param {string} id */
function keyBelow(parent, side, id) {
  const path = `${parent.key || side} ${id}`;
  return [0, 1].map((seed) => hashOf(path, seed).toString(16).padStart(8, "0")).join("");
}

/** @param {any} columns @param {string} side @param {FunctionColumns} functions @returns {Frame[]} */
function framesOf(columns, side, functions) {
  if (!columns) return [];
  /** @type {Frame[]} */
  const frames = columns.parent.map((/** @type {number} */ parent, /** @type {number} */ i) => ({
    index: i, side, parent: null, below: [], fn: columns.function[i], cost: columns.cost[i], own: columns.own[i],
    calls: columns.calls[i], flags: columns.flags[i], base: columns.base ? columns.base[i] : 0,
    more: columns.more[i] ?? "", start: 0, depth: 0, key: "",
  }));
  frames.forEach((frame, i) => {
    if (i === 0) return;
    frame.parent = frames[columns.parent[i]];
    frame.parent.below.push(frame);
    frame.key = keyBelow(frame.parent, side, functions.id[frame.fn]);
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
  const down = framesOf(data.down, "down", data.functions), up = framesOf(data.up, "up", data.functions);
  // The first of two frames with the same path is the more expensive one.
  const byKey = new Map([...down, ...up].reverse().map((frame) => [frame.key, frame]));
  return { unit: data.unit, metric: data.metric, total: data.total, mode: data.mode, path: data.path ?? [],
    functions: data.functions, modules: data.modules, down, up, byKey, hasBase: Boolean(data.down.base) };
}

/** @param {FlameModel} model */
export function deepest(model) {
  const depth = (/** @type {Frame[]} */ frames) => frames.reduce((most, frame) => Math.max(most, frame.depth), 0);
  return { up: depth(model.up), down: depth(model.down) };
}

/** Frames whose function matches and that are not below another such frame. @param {Frame[]} frames @param {boolean[]} hits by function */
export function outermostMatches(frames, hits) {
  return frames.filter((frame) => {
    for (let up = frame.parent; up; up = up.parent) if (hits[up.fn]) return false;
    return hits[frame.fn];
  });
}

/** What frames cost between two places of the cost axis. @param {Frame[]} frames @param {number} left @param {number} right */
export function costBetween(frames, left, right) {
  return frames.reduce((sum, frame) => sum + Math.max(0, Math.min(right, frame.start + frame.cost) - Math.max(left, frame.start)), 0);
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
