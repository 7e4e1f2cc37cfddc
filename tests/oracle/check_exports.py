#!/usr/bin/env python3
"""Reads exports of one profile with the tools they are meant for, and compares with the views.

check_exports.py REPORT WORK PROFILE [OPTION...]: exports PROFILE with these options of REPORT into
the directory WORK. Prints a line for each difference; exit status 1 if there is one.
"""
import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections import Counter

import otlp

REPORT, WORK, PROFILE, *OPTIONS = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
failures = 0


def expect(what, wanted, got):
    global failures
    if wanted == got:
        return
    print(f"FAIL {what}: expected {str(wanted)[:300]!r}, got {str(got)[:300]!r}")
    failures += 1


def run(*command, binary=False, stdin=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          input=stdin, env=dict(os.environ, PPROF_TMPDIR=WORK, HOME=WORK))
    if done.returncode != 0:
        expect(f"exit status of {' '.join(command)[:80]} ({done.stderr.decode()[:300]})", 0,
               done.returncode)
    return done.stdout if binary else done.stdout.decode()


def view(*options):
    return run(REPORT, *options, *OPTIONS, PROFILE)


def exported(name, *options):
    path = os.path.join(WORK, "out." + name)
    expect(f"stdout of --export {name} -o", "", view("--export", name, "-o", path, *options))
    with open(path, "rb") as file:
        return path, file.read()


# --- the figures of the views

summary = json.loads(view("--export", "json"))
metrics = [m["name"] for m in summary["metrics"]]
units = {m["name"]: m["unit"] for m in summary["metrics"]}
totals = {m: json.loads(view("--self", "--metric", m, "--format", "json"))["kept"]
          for m in metrics}
pairs = Counter()
for row in csv.DictReader(io.StringIO(view("--edges", "--format", "csv"))):
    pairs[row["caller"], row["callee"]] += int(row["calls"])
default = summary["metric"]
expect("there is something to compare", True, totals[default] > 0 and sum(pairs.values()) > 100)


def check_json():
    _, data = exported("json")
    document = json.loads(data)
    nodes, functions = document["nodes"], document["functions"]
    for metric, values in zip(document["metrics"], nodes["values"]):
        expect(f"json: {metric['name']}", totals[metric["name"]], sum(values))
        expect(f"json: total of {metric['name']}", totals[metric["name"]], metric["total"])
    expect("json: parents first", True, all(p < n for n, p in enumerate(nodes["parent"])))
    expect("json: columns of functions", 1, len({len(column) for column in functions.values()}))
    edges, calls = document["edges"], Counter()
    for start, end, count in zip(edges["from"], edges["to"], edges["calls"]):
        calls[tuple(functions["name"][nodes["function"][n]] for n in (start, end))] += count
    expect("json: calls", +pairs, +calls)


def check_csv():
    _, data = exported("csv")
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    for metric in metrics:
        expect(f"csv: {metric}", totals[metric], sum(int(row[metric + "_self"]) for row in rows))
        expect(f"csv: root's {metric}", totals[metric], int(rows[0][metric + "_total"]))


def check_pprof():
    path, data = exported("pprof")
    # go tool pprof: every sample, then the report of each type.
    raw = run("go", "tool", "pprof", "-raw", path).splitlines()
    start = raw.index("Samples:")
    types = [t.split("/")[0] for t in raw[start + 1].replace("[dflt]", "").split()]
    expect("pprof: default", True, (default + "/") in raw[start + 1].split()[-1])
    expect("pprof: sample types", sorted(metrics), sorted(types))
    sums = [0] * len(types)
    for line in raw[start + 2:raw.index("Locations")]:
        match = re.match(r"^ *(\d+(?: +\d+)*):", line)
        if match:
            sums = [a + int(b) for a, b in zip(sums, match.group(1).split())]
    expect("pprof -raw: totals", totals, dict(zip(types, sums)))
    for metric in metrics:
        # -unit takes names of units only where the values have one.
        unit = ["-unit=ns"] if units[metric] == "ns" else []
        top = run("go", "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0",
                  "-sample_index=" + metric, *unit, path)
        match = re.search(r"accounting for (\d+)\w*, \S+ of (\d+)\w* total", top)
        if totals[metric] == 0 or (match is None and totals[metric] < 1000):
            continue
        if unit:
            expect(f"pprof -top: {metric}", str(totals[metric]), match and match.group(2))
    # protoc: the message has only the format's fields, and its texts begin with "".
    decoded = run("protoc", "--proto_path=" + HERE, "--decode=pprof.Profile", "profile.proto",
                  stdin=run("gzip", "-dc", path, binary=True))
    texts = re.findall(r'^string_table: "(.*)"$', decoded, re.M)
    expect("protoc: unknown fields", [], re.findall(r"^\s*\d+[: {].*$", decoded, re.M)[:3])
    expect("protoc: first text", "", texts[0])
    expect("protoc: texts are told once", len(texts), len(set(texts)))
    expect("protoc: default type", default,
           texts[int(re.search(r"^default_sample_type: (\d+)", decoded, re.M).group(1))])
    filename = re.search(r"^mapping {[^}]*\n  filename: (\d+)", decoded, re.M).group(1)
    expect("protoc: the program is the first mapping",
           os.path.basename(summary["command"].split()[0]), os.path.basename(texts[int(filename)]))
    expect("pprof is gzipped", b"\x1f\x8b", data[:2])


def check_otlp():
    _, data = exported("otlp")
    request = otlp.Request(data)
    expect("otlp: the format's rules", [], request.broken)
    program = os.path.basename(summary["command"].split()[0])
    expect("otlp: the program", program, request.resource["service.name"])
    expect("otlp: the system", "linux", request.resource["os.type"])
    expect("otlp: who says so", ["fbleprof"], request.scope["name"])
    expect("otlp: the chosen metric is first", default, request.metric(request.profiles[0]))
    sums = {request.metric(p): sum(v for v, _, _ in request.values(p)) for p in request.profiles}
    expect("otlp: totals", totals, sums)
    rows = json.loads(view("--self", "--all", "--metric", default,
                           "--format", "json"))["rows"]
    own = Counter()
    for value, stack, _ in request.values(request.profiles[0]):
        own[stack[0]] += value
    wanted = Counter()
    for row in rows:
        wanted[row["name"]] += row["self"]
    if not OPTIONS:
        expect("otlp: self of functions", +wanted, own)
    if "thread" in OPTIONS:
        expect("otlp: threads", True, all("thread.name" in labels for _, _, labels in
                                          request.values(request.profiles[0])))
    mappings = [request.attributes(m) for m in request.tables["mapping_table"][1:]]
    expect("otlp: build-ids", True,
           any("process.executable.build_id.gnu" in mapping for mapping in mappings))


def check_folded():
    for metric in metrics:
        path, _ = exported("folded", "--metric", metric)
        got = run("awk", '{ sum += $NF } END { printf "%.0f", sum }', path)
        expect(f"folded: {metric}", str(totals[metric]), got)
        with open(path, encoding="utf-8") as file:
            for line in file:
                expect("folded: a line", True,
                       re.fullmatch(r"\S.*\S? \d+\n", line) is not None and
                       re.fullmatch(r".*\s\d+(\.\d*)? \d+\n", line) is None)


def check_callgrind():
    path, data = exported("callgrind")
    out = run("callgrind_annotate", "--threshold=100", "--inclusive=yes", "--tree=calling",
              "--show-percs=no", "--auto=no", path)
    events = re.search(r"^Events recorded:\s+(.*)$", out, re.M).group(1).split()
    expect("callgrind: events", sorted(metrics), sorted(events))
    program = re.search(r"^(.*)PROGRAM TOTALS", out, re.M).group(1)
    values = [int(v.replace(",", "")) for v in program.split()]
    expect("callgrind_annotate: totals", totals, dict(zip(events, values)))
    # Without inclusive costs: the costs in the body add up as well.
    self_out = run("callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", path)
    sums = [0] * len(events)
    for line in self_out[self_out.index("file:function"):].splitlines()[2:]:
        match = re.match(r"^ *([\d,]+(?: +[\d,]+)*)  \S", line)
        if match:
            columns = [int(v.replace(",", "")) for v in match.group(1).split()]
            sums = [a + b for a, b in zip(sums, columns)]
    first = events[0]
    expect("callgrind_annotate: sum of self", totals[first], sums[0])
    # Calls of every pair. If only samples saw one, the format requires 1.
    calls, caller = Counter(), None
    strip = lambda text: re.sub(r" \[[^\[\]]*\]$", "", text)
    for line in out.splitlines():
        match = re.match(r"^ *[\d,]+(?: +[\d,]+)*  (\*|>)\s+(.*)$", line)
        if not match:
            continue
        if match.group(1) == "*":
            caller = strip(match.group(2)).split(":", 1)[1]
        else:
            name, count = re.fullmatch(r"(.*) \(([\d,]+)x\)", strip(match.group(2))).groups()
            calls[caller, name.split(":", 1)[1]] += int(count.replace(",", ""))
    sampled = {pair for pair, count in pairs.items() if count == 0}
    expect("callgrind_annotate: calls", +pairs,
           Counter({pair: count for pair, count in calls.items() if pair not in sampled}))
    numbers = sorted({int(n) for n in re.findall(rb"^c?fn=\((\d+)\) ", data, re.M)})
    expect("callgrind: numbers are dense", list(range(1, len(numbers) + 1)), numbers)


def check_speedscope():
    _, data = exported("speedscope")
    document = json.loads(data)
    frames = len(document["shared"]["frames"])
    got = {}
    for profile in document["profiles"]:
        now, open_frames = 0, []
        for event in profile["events"]:
            expect("speedscope: time goes on", True, event["at"] >= now)
            expect("speedscope: frame", True, 0 <= event["frame"] < frames)
            now = event["at"]
            if event["type"] == "O":
                open_frames.append(event["frame"])
            else:
                expect("speedscope: what is closed is open", open_frames.pop(), event["frame"])
        expect("speedscope: all closed", [], open_frames)
        expect("speedscope: ends", profile["endValue"], now)
        got[profile["name"]] = now
    expect("speedscope: totals", {m: t for m, t in totals.items() if t}, got)
    expect("speedscope: the first profile", default, document["profiles"][0]["name"])


def check_firefox():
    _, data = exported("firefox")
    document = json.loads(data)
    shared, got = document["shared"], {}
    for name, table in list(shared.items()) + [
            ("samples", t["samples"]) for t in document["threads"]] + [
            ("markers", t["markers"]) for t in document["threads"]]:
        if isinstance(table, dict):
            lengths = {len(c) for c in table.values() if isinstance(c, list)}
            expect(f"firefox: columns of {name}", {table["length"]}, lengths)
    offsets = shared["stackTable"]["prefixOffset"]
    expect("firefox: parents first", True, all(0 <= o <= n for n, o in enumerate(offsets)))
    for frame in shared["stackTable"]["frame"]:
        function = shared["frameTable"]["func"][frame]
        expect("firefox: a name", True,
               shared["stringArray"][shared["funcTable"]["name"][function]] != "")
    for thread in document["threads"]:
        samples = thread["samples"]
        expect("firefox: time goes on", sorted(samples["time"]), samples["time"])
        weights = samples["weight"]
        if samples["weightType"] == "tracing-ms":
            weights = [round(w * 1e6) for w in weights]
        got[thread["name"]] = sum(weights)
    expect("firefox: totals", {m: t for m, t in totals.items() if t}, got)


def check_graphs():
    path, data = exported("dot", "--all")
    expect("dot: total", True, f"({totals[default]})" in data.decode())
    drawn = run("dot", "-Tsvg", path)
    expect("dot -Tsvg", True, drawn.rstrip().endswith("</svg>"))
    _, svg = exported("svg")
    expect("svg", True, svg.decode().rstrip().endswith("</svg>") and b"<script" not in svg)
    exact = Counter()
    names = dict(re.findall(r'^  (n\d+) \[.*tooltip="((?:[^"\\]|\\.)*)"', data.decode(), re.M))
    for caller, callee, label in re.findall(r'^  (n\d+) -> (n\d+) \[label="([^"]*)"',
                                            data.decode(), re.M):
        count = re.match(r"([\d,]+)×", label)
        unquote = lambda name: re.sub(r"\\(.)", r"\1", names[name])
        exact[unquote(caller), unquote(callee)] += int(count[1].replace(",", "")) if count else 0
    root = summary["functions"]["name"][0]
    # The root is drawn if a sample fell before main.
    without_root = [+Counter({p: c for p, c in counts.items() if p[0] != root})
                    for counts in (pairs, exact)]
    expect("dot: calls", *without_root)


def check_html():
    _, data = exported("html")
    page = data.decode()
    # The page in a browser is tested elsewhere (tests/browser). Here: the file loads nothing.
    expect("html: no address", [], re.findall(r"\bhttps?://[^\"'<\s]*", page))
    expect("html: nothing is loaded", [], re.findall(r"\bsrc=|@import|\burl\(", page))
    links = re.findall(r'\bhref="([^"]*)"', page)
    expect("html: links lead into the file", [], [link for link in links if link[:1] != "#"][:5])
    expect("html: policy", True, "default-src 'none'" in page)


def check_terminal():
    # A binary format is not for a terminal.
    primary, secondary = pty.openpty()
    done = subprocess.run([REPORT, "--export", "pprof", PROFILE], stdout=secondary,
                          stderr=subprocess.PIPE, check=False)
    os.close(secondary)
    os.close(primary)
    expect("pprof on a terminal", 2, done.returncode)
    expect("... says why", True, b"-o FILE" in done.stderr and done.stderr.count(b"\n") == 1)
    for wrong in (["--export", "xml"], ["--export", "json", "-o", "/nonexistent/x"],
                  ["--export", "json", "--self"]):
        done = subprocess.run([REPORT, *wrong, PROFILE], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        expect(f"{wrong}: status", 2, done.returncode)
        expect(f"{wrong}: one line", 1, done.stderr.count(b"\n"))


for check in (check_json, check_csv, check_pprof, check_otlp, check_folded, check_callgrind,
              check_speedscope, check_firefox, check_graphs, check_html, check_terminal):
    check()
sys.exit(1 if failures else 0)
