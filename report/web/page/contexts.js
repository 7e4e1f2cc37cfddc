// Applies the lists to the contexts of a file, as the server does for a page that has one.

/** @typedef {{list: string, id: string}} ListEntry */
/** @typedef {{parent: number, fn: number, own: number, hidden: number, calls: number, cost: number, flags: number, folded: number}} Context */
/** `fn` is -1 for [folded]. @typedef {{fn: number, self: number, dominated: number, calls: number, callsAreBound: boolean}} FunctionSums */

/** Contexts that stay, parents first; folded ones are charged to their callers. @param {any} data @param {ListEntry[]} entries @returns {Context[]} */
export function filteredContexts(data, entries) {
  const tree = data.down, ids = data.functions.id, count = tree.parent.length;
  const listed = (/** @type {string} */ list) => entries.filter((entry) => entry.list === list).map((entry) => entry.id);
  const selected = listed("sel"), excluded = new Set(listed("exc")), folded = new Set(listed("fold"));
  // The part of a context's cost that is too small to be in this file.
  const hidden = tree.cost.map((/** @type {number} */ cost, /** @type {number} */ i) => cost - tree.own[i]);
  for (let i = 1; i < count; ++i) hidden[tree.parent[i]] -= tree.cost[i];
  /** @type {Context[]} */
  const contexts = [];
  /** @type {Map<string, number>} */
  const places = new Map();
  /** @type {{at: number, seen: Set<string>, isOut: boolean}[]} */
  const states = [];
  for (let i = 0; i < count; ++i) {
    const above = i ? states[tree.parent[i]] : null, id = ids[tree.function[i]];
    const seen = selected.includes(id) ? new Set([...(above?.seen ?? []), id]) : above?.seen ?? new Set();
    const isOut = Boolean(above?.isOut) || excluded.has(id);
    let at = above?.at ?? 0;
    if (!i || !folded.has(id)) {
      const key = `${at} ${tree.function[i]}`;
      const known = i ? places.get(key) : undefined;
      at = known ?? contexts.length;
      if (known === undefined) {
        contexts.push({ parent: above?.at ?? 0, fn: tree.function[i], own: 0, hidden: 0, calls: 0, cost: 0, flags: 0, folded: 0 });
        places.set(key, at);
      }
    }
    states.push({ at, seen, isOut });
    if (isOut || seen.size < selected.length) continue;
    const context = contexts[at];
    // The calls of a folded function are nobody's: its callers did not get them.
    const own = folded.has(id) && data.metric === "calls" ? 0 : tree.own[i];
    context.own += own;
    if (i && !at) context.folded += own;
    context.hidden += Math.max(0, hidden[i]);
    context.flags |= tree.flags[i];
    if (!folded.has(id)) context.calls += tree.calls[i];
  }
  for (let i = contexts.length; i-- > 0;) {
    contexts[i].cost += contexts[i].own + contexts[i].hidden;
    if (i) contexts[contexts[i].parent].cost += contexts[i].cost;
  }
  return contexts;
}

/** @param {any} data @param {FunctionSums} row @returns {string} */
export function nameOf(data, row) { return row.fn < 0 ? "[folded]" : data.functions.name[row.fn]; }

/** What the root has of its own, and what was folded into it, have rows as on the server. @param {Context} root @returns {FunctionSums[]} */
function rootSums(root) {
  const own = root.own - root.folded, nothing = { calls: 0, callsAreBound: false };
  return [{ fn: root.fn, self: own, dominated: root.cost, ...nothing }, { fn: -1, self: root.folded, dominated: root.folded, ...nothing }].filter((row) => row.self);
}

/** Calls are a bound where some of them are in contexts that this file does not have. @param {any} data @param {Context[]} contexts @returns {FunctionSums[]} */
export function functionSums(data, contexts) {
  /** @type {Map<number, FunctionSums>} */
  const sums = new Map();
  contexts.forEach((context, i) => {
    if (!i || (!context.cost && !context.calls)) return;
    const row = sums.get(context.fn) ?? { fn: context.fn, self: 0, dominated: 0, calls: 0, callsAreBound: data.functions.calls_elsewhere[context.fn] > 0 };
    sums.set(context.fn, row);
    row.self += context.own;
    row.calls += context.calls;
    // A path counts once, however often the function is on it.
    let up = context.parent;
    while (up && contexts[up].fn !== context.fn) up = contexts[up].parent;
    if (!up) row.dominated += context.cost;
  });
  return [...sums.values(), ...rootSums(contexts[0])];
}

/** A flame graph's data in the server's format. @param {any} data @param {Context[]} contexts */
export function flameOf(data, contexts) {
  /** @type {number[][]} */
  const below = contexts.map(() => []);
  contexts.forEach((context, i) => { if (i && context.cost) below[context.parent].push(i); });
  /** @type {any} */
  const down = { parent: [], function: [], cost: [], own: [], calls: [], flags: [], more: {} };
  const pending = [[0, 0]];
  while (pending.length) {
    const [i, parent] = /** @type {number[]} */ (pending.shift()), context = contexts[i], at = down.parent.length;
    down.parent.push(parent);
    down.function.push(context.fn);
    for (const column of /** @type {const} */ (["cost", "own", "calls", "flags"])) down[column].push(context[column]);
    below[i].sort((a, b) => contexts[b].cost - contexts[a].cost);
    for (const child of below[i]) pending.push([child, at]);
  }
  return { ...data, total: contexts[0].cost, mode: "tree", down };
}
