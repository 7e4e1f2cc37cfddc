// What an expression finds in a flame graph, and what that costs.
import { costBetween, outermostMatches, quantityText, shareText } from "./flame_data.js";

/** @typedef {import("./flame_data.js").Frame} Frame */
/** @typedef {import("./flame_data.js").FlameModel} FlameModel */
/** By function whether it matches, and the frames that are not below another match.
 * @typedef {{hits: boolean[], down: Frame[], up: Frame[]}} Matches */

/** @param {string} text @returns {RegExp | string} the expression, or what is wrong with it */
export function parsedExpression(text) {
  try {
    return new RegExp(text, "i");
  } catch (error) {
    // Browsers say "Invalid regular expression: /TEXT/i: REASON", or only the reason.
    return String(/** @type {Error} */ (error).message).split(": ").pop() ?? "";
  }
}

/** @param {FlameModel} model @param {RegExp} wanted @returns {Matches} */
export function matchesOf(model, wanted) {
  const hits = model.functions.name.map((name) => wanted.test(name));
  return { hits, down: outermostMatches(model.down, hits), up: outermostMatches(model.up, hits) };
}

/** What matches cost, with all they call (of callers: what they call the function for).
 * @param {FlameModel} model @param {Matches} found what is in the graph @param {Matches | null} everywhere null: not known yet
 * @param {{left: number, right: number}} view @param {boolean} isWhole whether all of the graph is in view */
export function foundText(model, found, everywhere, view, isWhole) {
  const text = (/** @type {"down" | "up"} */ side) => {
    const here = shareText(costBetween(found[side], view.left, view.right), view.right - view.left);
    const all = everywhere ? costBetween(everywhere[side], 0, Infinity) : 0, figure = quantityText(all, model.unit);
    if (!everywhere) return `${here} of this part`;
    if (isWhole) return `${figure} (${shareText(all, model.total)})`;
    return `${here} of this part, ${shareText(all, model.total)} of everything (${figure})`;
  };
  return model.mode === "pivot" ? `callers ${text("up")}; callees ${text("down")}` : text("down");
}
