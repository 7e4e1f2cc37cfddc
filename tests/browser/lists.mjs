// lists.mjs REPORT: compares what contexts.mjs makes of a file with what the report says.
import assert from "assert";
import { execFileSync } from "child_process";
import fs from "fs";
import { filteredContexts, functionSums } from "./contexts.mjs";

const report = process.argv[2];
const options = { sel: "--select", exc: "--exclude", fold: "--fold" };

// A context each: its path, cost and calls. `rare` is mostly in contexts too cheap to be in the file.
const contexts = [
  ["main", 1000, 1], ["main work", 90000, 10], ["main work leaf", 50000, 700], ["main work rare", 40000, 20],
  ["main other", 30000, 3], ["main other work", 20000, 30], ["main other work leaf", 10000, 90],
  ["main cheap", 1, 5000], ["main cheap rare", 1, 60000], ["main other cheap", 2, 7],
];
const names = [...new Set(contexts.flatMap(([path]) => path.split(" ")))];
const stacks = contexts.map(([path]) => path.split(" ").map((name) => names.indexOf(name)));
const profiles = ["cpu", "calls"].map((name, column) => ({ type: "sampled", name, unit: column ? "none" : "nanoseconds",
  startValue: 0, endValue: 1, samples: stacks, weights: contexts.map((context) => context[1 + column]) }));
fs.writeFileSync("profile.json", JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json",
  exporter: "fble-prof-report", shared: { frames: names.map((name) => ({ name })) }, profiles }));

const ask = (...words) => execFileSync(report, [...words, "profile.json"], { encoding: "utf8" });
const file = ask("--export", "html", "--metric", "cpu");
const dataOf = Object.fromEntries([...file.matchAll(/class=contexts data-metric="[^"]*">(.*?)<\/script>/gs)].map((found) => JSON.parse(found[1])).map((data) => [data.metric, data]));

let bounds = 0;
for (const metric of ["cpu", "calls"]) {
  const data = dataOf[metric];
  for (const lists of [["fold leaf"], ["fold work"], ["fold rare"], ["fold work", "fold leaf"], ["exc leaf"], ["exc other"], ["sel work"], ["sel other", "fold work"]]) {
    const what = `${metric}, ${lists.join(", ")}`, entries = lists.map((entry) => entry.split(" "));
    const kept = filteredContexts(data, entries.map(([list, name]) => ({ list, id: data.functions.id[data.functions.name.indexOf(name)] })));
    const told = JSON.parse(ask("--self", "--all", "--metric", metric, "--format", "json", ...entries.flatMap(([list, name]) => [options[list], name])));
    assert.strictEqual(kept[0].cost, told.kept, `${what}: kept`);
    for (const row of functionSums(data, kept)) {
      const name = data.functions.name[row.fn], wanted = told.rows.find((each) => each.name === name);
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
