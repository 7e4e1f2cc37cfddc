// The call graph's picture may be wider than the screen: it begins where its root is in sight, or the
// function that was selected.
import { addressParameters } from "./address.js";
import { all, one } from "./dom.js";

const margin = 16;

/** @param {Element} graph */
function boxToShow(graph) {
  const selected = addressParameters().getAll("sel"), boxes = all("[data-function]", graph);
  return boxes.find((box) => selected.includes(box.getAttribute("data-function") ?? "")) ?? boxes[0];
}

export function startGraph() {
  const graph = one("svg.graph"), scroll = graph?.parentElement;
  if (!graph || !scroll || "started" in graph.dataset) return;
  graph.dataset.started = "";
  const box = boxToShow(graph)?.getBoundingClientRect(), place = scroll.getBoundingClientRect();
  // The left end is where people look first.
  if (box && box.right + margin > place.right) scroll.scrollLeft = box.left + box.width / 2 - place.left - place.width / 2;
}
