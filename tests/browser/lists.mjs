// lists.mjs REPORT: compares what contexts.mjs makes of a file with what the report says.
import assert from "assert";
import { execFileSync } from "child_process";
import fs from "fs";
import { filteredContexts, functionSums, nameOf } from "./contexts.mjs";

const report = process.argv[2];
const options = { sel: "--select", exc: "--exclude", fold: "--fold" };

// A context each: its path, cost and calls. `rare` is mostly in contexts too cheap to be in the file.
const large = [
  ["main", 1000, 1], ["main work", 90000, 10], ["main work leaf", 50000, 700], ["main work rare", 40000, 20],
  ["main other", 30000, 3], ["main other work", 20000, 30], ["main other work leaf", 10000, 90],
  ["main cheap", 1, 5000], ["main cheap rare", 1, 60000], ["main other cheap", 2, 7],
];
// Nothing is too cheap here: not what only was called. The root has a cost of its own.
const small = [["", 50, 0], ["main", 100, 1], ["main work", 900, 10], ["main work leaf", 500, 70], ["main work rare", 0, 40],
  ["main other", 0, 3], ["main other work", 200, 5]];

const ask = (...words) => execFileSync(report, [...words, "profile.json"], { encoding: "utf8" });
const everything = [["fold leaf"], ["fold work"], ["fold rare"], ["fold main"], ["fold main", "fold work"], ["fold work", "fold leaf"], ["exc leaf"], ["exc other"], ["sel work"], ["sel other", "fold work"]];

// Its data by metric, as in the file.
function dataOf(contexts) {
  const names = [...new Set(contexts.flatMap(([path]) => path.split(" ")))].filter(Boolean);
  const stacks = contexts.map(([path]) => path.split(" ").filter(Boolean).map((name) => names.indexOf(name)));
  const profiles = ["cpu", "calls"].map((name, column) => ({ type: "sampled", name, unit: column ? "none" : "nanoseconds",
    startValue: 0, endValue: 1, samples: stacks, weights: contexts.map((context) => context[1 + column]) }));
  fs.writeFileSync("profile.json", JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json",
    exporter: "fble-prof-report", shared: { frames: names.map((name) => ({ name })) }, profiles }));
  const file = ask("--export", "html", "--metric", "cpu");
  return Object.fromEntries([...file.matchAll(/class=contexts data-metric="[^"]*">(.*?)<\/script>/gs)].map((found) => JSON.parse(found[1])).map((data) => [data.metric, data]));
}

let bounds = 0;
for (const contexts of [large, small]) for (const [metric, data] of Object.entries(dataOf(contexts))) {
  for (const lists of everything) {
    const what = `${metric}, ${lists.join(", ")}`, entries = lists.map((entry) => entry.split(" "));
    const kept = filteredContexts(data, entries.map(([list, name]) => ({ list, id: data.functions.id[data.functions.name.indexOf(name)] })));
    const told = JSON.parse(ask("--self", "--all", "--metric", metric, "--format", "json", ...entries.flatMap(([list, name]) => [options[list], name])));
    assert.strictEqual(kept[0].cost, told.kept, `${what}: kept`);
    const sums = functionSums(data, kept), shown = sums.map((row) => nameOf(data, row));
    for (const { name, self, dominated, calls } of contexts === small ? told.rows : []) {
      if (self || dominated || calls) assert.ok(shown.includes(name), `${what}: ${name} has a row`);
    }
    for (const row of sums) {
      const name = nameOf(data, row), wanted = told.rows.find((each) => each.name === name);
      assert.ok(wanted, `${what}: ${name}`);
      if (!row.callsAreBound) assert.strictEqual(row.calls, wanted.calls, `${what}: calls of ${name}`);
      assert.ok(row.calls <= wanted.calls, `${what}: at least the calls of ${name}`);
      bounds += row.callsAreBound ? 1 : 0;
      // What is in contexts too cheap for the file is told in a note.
      const hidden = kept.reduce((sum, context) => sum + context.hidden, 0);
      assert.ok(wanted.self - row.self >= 0 && wanted.self - row.self <= hidden, `${what}: self of ${name}`);
      assert.ok(wanted.dominated - row.dominated >= 0 && wanted.dominated - row.dominated <= hidden, `${what}: dominated of ${name}`);
    }
  }
}
assert.ok(bounds > 0, "there is a function with calls in contexts that the file does not have");
