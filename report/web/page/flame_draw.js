// Draws frames. Does not handle input.
import { deepest, hashOf } from "./flame_data.js";

/** @typedef {import("./flame_data.js").Frame} Frame */
/** @typedef {import("./flame_data.js").FlameModel} FlameModel */
/**
 * @typedef {{left: number, right: number, colour: string, hits: boolean[] | null, chosen: Frame | null, hovered: Frame | null,
 *   deepestShown: number}} FlameView  The visible part of the cost axis, and its appearance.
 */

const rowHeight = 20, charWidth = 6.7;

/** @type {Map<string, number>} */
const hues = new Map();
/** @param {string} text */
function cachedHue(text) {
  let hue = hues.get(text);
  if (hue === undefined) hues.set(text, hue = hashOf(text) % 360);
  return hue;
}

/** @param {FlameModel} model @param {Frame} frame @param {FlameView} view @param {boolean} isDark */
function colourOf(model, frame, view, isDark) {
  const light = isDark ? 36 : 76, strong = isDark ? 45 : 78;
  if (view.hits) {
    return view.hits[frame.fn] ? (isDark ? "hsl(312 70% 45%)" : "hsl(312 80% 74%)") : (isDark ? "#2c323b" : "#e4e7eb");
  }
  if (view.colour === "change" && model.hasBase) {
    const change = frame.flags & 16 ? 0 : (frame.cost - frame.base) / Math.max(frame.cost, frame.base, 1);
    const part = Math.min(1, Math.abs(change) * 1.5);
    return `hsl(${change > 0 ? 4 : 215} ${Math.round(75 * part)}% ${isDark ? 34 : Math.round(90 - 22 * part)}%)`;
  }
  if (view.colour === "function") return `hsl(${18 + cachedHue(model.functions.name[frame.fn]) % 40} ${strong}% ${light - 4 + cachedHue(model.functions.name[frame.fn]) % 9}%)`;
  if (view.colour === "language") return `hsl(${cachedHue("~" + model.functions.kind[frame.fn])} ${strong - 15}% ${light}%)`;
  const module = model.modules[model.functions.module[frame.fn]];
  if (!module) return isDark ? "hsl(215 12% 32%)" : "hsl(215 15% 84%)";
  return `hsl(${(cachedHue(module) + 20) % 360} ${strong - 10}% ${light - 3 + cachedHue(model.functions.name[frame.fn]) % 7}%)`;
}

/** @param {string} text @param {number} width */
function fitted(text, width) {
  const most = Math.floor((width - 8) / charWidth);
  if (text.length <= most) return text;
  return most < 3 ? "" : text.slice(0, most - 1) + "…";
}

/** @param {Frame} frame */
function labelOf(frame) { return (frame.flags & 4 ? "↻ " : "") + (frame.flags & 2 ? "⇒ " : "") + (frame.more && frame.below.length === 0 ? "… " : ""); }

export class FlameDrawing {
  /** @param {HTMLCanvasElement} canvas @param {FlameModel} model @param {number} mostRows */
  constructor(canvas, model, mostRows) {
    this.canvas = canvas;
    this.model = model;
    const depth = deepest(model);
    this.upRows = depth.up;
    this.rows = Math.min(mostRows, depth.up + depth.down + 1);
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** @type {Map<Frame, string>} */
    this.colours = new Map();
    this.coloured = "";
    /** @type {boolean[] | null} */
    this.colouredHits = null;
  }

  /** Colours are kept while a graph moves: computing them takes longer than drawing. @param {Frame} frame @param {FlameView} view @param {boolean} isDark */
  colour(frame, view, isDark) {
    let colour = this.colours.get(frame);
    if (!colour) this.colours.set(frame, colour = colourOf(this.model, frame, view, isDark));
    return colour;
  }

  /** @param {FlameView} view @param {boolean} isDark */
  forgetOldColours(view, isDark) {
    const coloured = `${view.colour} ${isDark}`;
    if (coloured === this.coloured && view.hits === this.colouredHits) return;
    this.colours.clear();
    this.coloured = coloured;
    this.colouredHits = view.hits;
  }

  /** The row of a frame: callers are above their callees. @param {Frame} frame */
  rowOf(frame) { return frame.side === "up" ? this.upRows - frame.depth : this.upRows + frame.depth; }

  /** @param {FlameView} view */
  draw(view) {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.rows * rowHeight + 2;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
    }
    const context = this.context, isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
    this.forgetOldColours(view, isDark);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "11px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
    context.textBaseline = "middle";
    const scale = width / (view.right - view.left), ink = isDark ? "#f2f4f7" : "#1b1f24";
    for (const frames of [this.model.down, this.model.up]) {
      for (const frame of frames) {
        if (frame.side === "up" && frame.depth === 0) continue;
        const row = this.rowOf(frame);
        if (row >= this.rows) continue;
        const from = Math.max(0, (frame.start - view.left) * scale), to = Math.min(width, (frame.start + frame.cost - view.left) * scale);
        const wide = to - from;
        if (wide < 0.5) continue;
        const y = row * rowHeight;
        context.fillStyle = this.colour(frame, view, isDark);
        context.fillRect(from, y + 1, Math.max(wide - (wide > 3 ? 1 : 0), 0.5), rowHeight - 1);
        if (frame === view.chosen || frame === view.hovered) {
          context.strokeStyle = ink;
          context.lineWidth = frame === view.chosen ? 2 : 1;
          context.strokeRect(from + 1, y + 2, Math.max(wide - 3, 1), rowHeight - 3);
        }
        if (wide < 24) continue;
        const text = fitted(labelOf(frame) + this.model.functions.name[frame.fn], wide);
        if (!text) continue;
        context.fillStyle = ink;
        context.fillText(text, from + 4, y + rowHeight / 2 + 1);
      }
    }
  }

  /** @param {number} x @param {number} y @param {FlameView} view @returns {Frame | null} */
  frameAt(x, y, view) {
    const row = Math.floor(y / rowHeight), at = view.left + x / this.canvas.clientWidth * (view.right - view.left);
    const frames = row < this.upRows ? this.model.up : this.model.down;
    return frames.find((frame) => this.rowOf(frame) === row && frame.start <= at && at < frame.start + frame.cost &&
      !(frame.side === "up" && frame.depth === 0)) ?? null;
  }
}
