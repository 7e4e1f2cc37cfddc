// The page of --export html: a flame graph and a table over the document in #profile. All text goes
// through textContent or canvas, so a name is never anything but a name.
"use strict";

const doc = JSON.parse(document.getElementById("profile").textContent);
const names = doc.functions.name;
const parent = Int32Array.from(doc.nodes.parent);
const func = Uint32Array.from(doc.nodes.function);
const count = parent.length;
const metrics = doc.metrics;
const $ = (id) => document.getElementById(id);

// Preorder: a node's subtree is [node, end[node]).
const end = new Uint32Array(count);
for (let n = count - 1; n >= 0; --n) {
  if (end[n] === 0) end[n] = n + 1;
  if (parent[n] >= 0 && end[parent[n]] < end[n]) end[parent[n]] = end[n];
}

const zeros = new Float64Array(count);
const column = (metric) => {
  const values = doc.nodes.values[metric];
  return values.length === count ? Float64Array.from(values) : zeros;
};
const callsColumn = metrics.findIndex((m) => m.name === "calls");
const calls = callsColumn < 0 ? zeros : column(callsColumn);

// Back and tail edges by the node that they leave.
const ways = new Map();
doc.edges.kind.forEach((kind, e) => {
  if (kind === "tree") return;
  const from = doc.edges.from[e];
  if (!ways.has(from)) ways.set(from, []);
  ways.get(from).push({ kind, to: doc.edges.to[e], calls: doc.edges.calls[e] });
});

const state = { metric: 0, inverted: false, zoom: null, search: "", sort: "self", down: true };
let self, cost, total;  // of the metric in hand

function chooseMetric(metric) {
  state.metric = metric;
  self = column(metric);
  cost = Float64Array.from(self);
  const most = metrics[metric].aggregation === "max";
  for (let n = count - 1; n > 0; --n) {
    if (parent[n] < 0) continue;
    cost[parent[n]] = most ? Math.max(cost[parent[n]], cost[n]) : cost[parent[n]] + cost[n];
  }
  total = count > 0 ? cost[0] : 0;
  state.zoom = null;
}

// --- figures

function quantity(value, unit = metrics[state.metric].unit) {
  const scaled = (steps) => {
    let i = 0;
    for (let size = 1; i + 1 < steps.length && value / size >= steps[i][1]; ++i) size *= steps[i][1];
    const size = steps.slice(0, i).reduce((product, step) => product * step[1], 1);
    return (i === 0 ? value : (value / size).toPrecision(3).replace(/e\+.*/, "")) + " " + steps[i][0];
  };
  if (unit === "ns") {
    if (value >= 1e12) return Math.round(value / 1e9).toLocaleString("en") + " s";
    return scaled([["ns", 1000], ["µs", 1000], ["ms", 1000], ["s", 1000]]);
  }
  if (unit === "bytes" && value >= 1024) {
    const power = Math.min(4, Math.floor(Math.log2(value) / 10));
    return (value / 1024 ** power).toFixed(1) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][power];
  }
  return value.toLocaleString("en");
}
const share = (part) => (total > 0 ? ((100 * part) / total).toFixed(1) + "%" : "-");

// --- frames: nodes of the tree, or of its inversion, opened only where they can be seen

const byCost = (a, b) => b.cost - a.cost || a.fn - b.fn;

function topFrame() {
  if (state.inverted) {
    const members = [];
    for (let n = 0; n < count; ++n) if (self[n] > 0) members.push([n, n]);
    return { fn: -1, cost: total, depth: 0, up: null, members };
  }
  return { fn: -1, cost: total, depth: 0, up: null, node: 0 };
}

function children(frame) {
  if (frame.below) return frame.below;
  const below = [];
  if (frame.members) {
    // The callers of the frame: its members, each a node and the place on its path, by function.
    const groups = new Map();
    for (const [node, at] of frame.members) {
      const place = frame.depth === 0 ? at : parent[at];
      if (place < 0 || (frame.depth > 0 && parent[place] < 0)) continue;
      let group = groups.get(func[place]);
      if (!group) {
        group = { fn: func[place], cost: 0, depth: frame.depth + 1, up: frame, members: [] };
        groups.set(func[place], group);
      }
      group.cost += self[node];
      group.members.push([node, place]);
    }
    below.push(...groups.values());
  } else if (count > 0) {
    for (let n = frame.node + 1; n < end[frame.node]; n = end[n]) {
      if (cost[n] > 0) below.push({ fn: func[n], cost: cost[n], depth: frame.depth + 1, up: frame, node: n });
    }
  }
  frame.below = below.sort(byCost);
  return frame.below;
}

// --- the flame graph

const kRow = 18, kLeast = 0.7;  // CSS pixels; narrower frames are not drawn
const kAbove = 20;              // rows above what is zoomed in on
const kMostRows = 1500;         // browsers limit the height of a canvas
const canvas = $("flame");
let root = null, drawn = [], skipped = 0;  // rows

const hash = (fn) => {
  let h = 2166136261;
  const name = names[fn];
  for (let i = 0; i < Math.min(name.length, 64); ++i) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  return h >>> 0;
};
const colours = names.map((_, fn) => `hsl(${hash(fn) % 55} 80% ${62 + (hash(fn) >>> 8) % 12}%)`);
let matches = null;  // by function: whether the search finds it
const colour = (fn) =>
  fn < 0 ? "hsl(220 10% 75%)" : matches && matches[fn] ? "hsl(265 75% 72%)" : colours[fn];
const title = (frame) => (frame.fn < 0 ? "all" : names[frame.fn]);

function draw() {
  if (!root) root = topFrame();
  const zoom = state.zoom || root;
  const width = canvas.parentElement.clientWidth;
  // Lay out first: how deep it goes decides how high the canvas is.
  drawn = [];
  let deepest = 0;
  const above = [];
  for (let f = zoom.up; f; f = f.up) above.push(f);
  for (const f of above) drawn.push({ frame: f, x: 0, width, faded: true });
  const open = [{ frame: zoom, x: 0, width }];
  while (open.length > 0) {
    const box = open.pop();
    drawn.push(box);
    deepest = Math.max(deepest, box.frame.depth);
    let x = box.x;
    for (const child of children(box.frame)) {
      const wide = box.frame.cost > 0 ? (box.width * child.cost) / box.frame.cost : 0;
      if (wide < kLeast) break;  // the rest is narrower still
      open.push({ frame: child, x, width: wide });
      x += wide;
    }
  }
  skipped = Math.max(0, zoom.depth - kAbove);
  const rows = Math.min(deepest + 1 - skipped, kMostRows);
  const scale = Math.min(window.devicePixelRatio || 1, 30000 / (rows * kRow));
  canvas.style.height = rows * kRow + "px";
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(rows * kRow * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const { frame, x, width: wide, faded } of drawn) {
    const y = (frame.depth - skipped) * kRow;
    pen.globalAlpha = faded ? 0.5 : 1;
    pen.fillStyle = colour(frame.fn);
    pen.fillRect(x, y, Math.max(wide - 0.5, 0.5), kRow - 1);
    if (wide < 24) continue;
    pen.fillStyle = "#111";
    const text = title(frame);
    const fits = Math.floor((wide - 6) / 6.2);
    pen.save();
    pen.beginPath();
    pen.rect(x, y, wide - 3, kRow);
    pen.clip();
    pen.fillText(text.length > fits * 2 ? text.slice(0, fits * 2) : text, x + 3, y + kRow / 2);
    pen.restore();
  }
  canvas.setAttribute("aria-label", `Flame graph of ${metrics[state.metric].name}: ${quantity(total)}`);
  $("trail").textContent = state.zoom ? path(state.zoom).join(state.inverted ? " ← " : " → ") : "";
}

function path(frame) {
  const parts = [];
  for (let f = frame; f && f.fn >= 0; f = f.up) parts.unshift(names[f.fn]);
  return parts;
}

function frameAt(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, row = Math.floor((event.clientY - box.top) / kRow) + skipped;
  return drawn.find((d) => d.frame.depth === row && x >= d.x && x < d.x + d.width)?.frame;
}

function describe(frame) {
  const lines = [title(frame), `${quantity(frame.cost)} (${share(frame.cost)}) with all below`];
  if (frame.node !== undefined && frame.fn >= 0) {
    lines.push(`${quantity(self[frame.node])} (${share(self[frame.node])}) itself`);
    if (calls[frame.node] > 0) lines.push(`called ${calls[frame.node].toLocaleString("en")}×`);
    for (const way of (ways.get(frame.node) || []).slice(0, 8)) {
      const sign = way.kind === "back" ? "↻ back to" : "⇒ tail-calls";
      lines.push(`${sign} ${names[func[way.to]]}: ${way.calls.toLocaleString("en")} calls`);
    }
  }
  const file = frame.fn >= 0 ? doc.functions.file[frame.fn] : "";
  if (file) lines.push(file + (doc.functions.line[frame.fn] ? ":" + doc.functions.line[frame.fn] : ""));
  return lines.join("\n");
}

// --- the table

// Functions that share a name, with what tells them apart: the module, else the file, else module
// and address.
function labelled() {
  const base = (path) => path.slice(path.lastIndexOf("/") + 1);
  const module = (fn) => base(doc.modules.path[doc.functions.module[fn]] || "");
  const file = (fn) => base(doc.functions.file[fn]);
  const place = (fn) => (module(fn) ? `${module(fn)}+` : "") + doc.functions.address[fn];
  const same = new Map();
  names.forEach((name, fn) => {
    if (!same.has(name)) same.set(name, []);
    same.get(name).push(fn);
  });
  const labels = names.slice();
  for (const fns of same.values()) {
    if (fns.length < 2) continue;
    const differ = (of) => new Set(fns.map(of)).size === fns.length;
    const of = differ(module) ? module : differ(file) ? file : place;
    for (const fn of fns) labels[fn] += of(fn) ? ` [${of(fn)}]` : "";
  }
  return labels;
}
const labels = labelled();

// Self, dominated (a path counts once) and calls of every function.
function functionRows() {
  const rows = names.map((name, fn) => ({ fn, name, self: 0, total: 0, calls: 0 }));
  const until = new Uint32Array(names.length);
  for (let n = 1; n < count; ++n) {
    const row = rows[func[n]];
    row.self += self[n];
    row.calls += calls[n];
    if (n >= until[func[n]]) {
      until[func[n]] = end[n];
      row.total += cost[n];
    }
  }
  if (count > 0) rows[func[0]].self += self[0];
  return rows.filter((row) => row.fn !== func[0] || row.self > 0);
}

const kRows = 200;
let rows = [];

function showTable() {
  const { sort, down } = state;
  const shown = rows.filter((row) => !matches || matches[row.fn]);
  shown.sort((a, b) => {
    const order = sort === "name" ? a.name.localeCompare(b.name) : b[sort] - a[sort] || b.total - a.total;
    return down ? order : -order;
  });
  const body = $("rows");
  body.replaceChildren();
  for (const row of shown.slice(0, kRows)) {
    const line = document.createElement("tr");
    for (const text of [quantity(row.self), share(row.self), quantity(row.total), share(row.total),
      row.calls > 0 ? row.calls.toLocaleString("en") : "", labels[row.fn]]) {
      line.appendChild(document.createElement("td")).textContent = text;
    }
    line.addEventListener("click", () => {
      $("search").value = row.name;
      search(row.name);
      window.scrollTo(0, 0);
    });
    body.appendChild(line);
  }
  $("more").textContent = shown.length > kRows ? `… ${shown.length - kRows} more: search for them` : "";
}

// --- what the user does

function search(text) {
  state.search = text;
  const wanted = text.toLowerCase();
  matches = wanted === "" ? null : names.map((name) => name.toLowerCase().includes(wanted));
  let found = 0;
  if (matches) {
    for (let n = 1; n < count;) {
      if (matches[func[n]]) {
        found += cost[n];
        n = end[n];
      } else {
        ++n;
      }
    }
  }
  $("found").textContent = matches ? `on paths of ${quantity(found)} (${share(found)})` : "";
  draw();
  showTable();
}

function refresh() {
  root = null;
  state.zoom = null;
  rows = functionRows();
  const metric = metrics[state.metric];
  const whole = metric.name === doc.metric && doc.total !== doc.kept ? `, kept of ${quantity(doc.total)}` : "";
  $("facts").textContent = `${metric.name}: ${quantity(total)} in all${whole}` +
    (doc.duration_ns ? ` · ran ${quantity(doc.duration_ns, "ns")}` : "") +
    doc.warnings.map((warning) => " · " + warning).join("");
  $("facts").dataset.total = String(total);
  search(state.search);
}

function invert() {
  state.inverted = !state.inverted;
  $("invert").setAttribute("aria-pressed", String(state.inverted));
  refresh();
}

function zoomTo(frame) {
  state.zoom = frame === root ? null : frame;
  draw();
}

metrics.forEach((metric, i) => {
  const option = document.createElement("option");
  option.value = String(i);
  option.textContent = `${metric.name} (${metric.unit})`;
  $("metric").appendChild(option);
});
$("title").textContent = doc.command || "Profile";
document.title = $("title").textContent + " - profile";
$("metric").addEventListener("change", () => {
  chooseMetric(Number($("metric").value));
  refresh();
});
$("invert").addEventListener("click", invert);
$("reset").addEventListener("click", () => zoomTo(root));
$("search").addEventListener("input", () => search($("search").value));
for (const button of document.querySelectorAll("[data-sort]")) {
  button.addEventListener("click", () => {
    state.down = state.sort === button.dataset.sort ? !state.down : true;
    state.sort = button.dataset.sort;
    showTable();
  });
}
canvas.addEventListener("click", (event) => {
  const frame = frameAt(event);
  if (frame) zoomTo(frame);
});
canvas.addEventListener("mousemove", (event) => {
  const frame = frameAt(event), tip = $("tip");
  tip.hidden = !frame;
  if (!frame) return;
  tip.textContent = describe(frame);
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
});
canvas.addEventListener("mouseleave", () => { $("tip").hidden = true; });
window.addEventListener("resize", draw);
window.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT") {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "Escape") zoomTo(root);
  if (event.key === "i") invert();
  if (event.key === "/") {
    event.preventDefault();
    $("search").focus();
  }
});

const first = Math.max(0, metrics.findIndex((metric) => metric.name === doc.metric));
$("metric").value = String(first);
chooseMetric(first);
refresh();
