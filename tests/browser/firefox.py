#!/usr/bin/env python3
"""Compares the Firefox Profiler's call trees of an export with our views of it.

firefox.py REPORT PROFILER_CLI PROFILE [OPTION...]: prints a line for each difference; exit status 1
if there is one.
"""
import json
import subprocess
import sys
from collections import defaultdict

REPORT, TOOL, PROFILE, *OPTIONS = sys.argv[1:]
failures = 0


def expect(what, wanted, got):
    global failures
    if wanted == got:
        return
    print(f"FAIL {what}: expected {str(wanted)[:300]!r}, got {str(got)[:300]!r}")
    failures += 1


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    expect(f"exit status of {' '.join(command)} ({done.stderr.decode()[:300]})", 0,
           done.returncode)
    return done.stdout.decode()


def profiler(*command):
    return run("node", TOOL, *command)


def load(path):
    """What the profiler says of a file. Its daemon has half a second to start, which is little on a
    machine with other work."""
    for _ in range(20):
        done = subprocess.run(["node", TOOL, "load", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode == 0 or b"did not become ready" not in done.stderr:
            break
        subprocess.run(["node", TOOL, "stop", "--all"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
    expect(f"exit status of load ({done.stderr.decode()[:300]})", 0, done.returncode)
    return done.stdout.decode()


def by_name(rows, name, *columns):
    """{name: [each column's values]}"""
    table = defaultdict(lambda: [[] for _ in columns])
    for row in rows:
        for values, column in zip(table[row[name]], columns):
            values.append(row[column])
    return table


run(REPORT, "--export", "firefox", "-o", "export.json", *OPTIONS, PROFILE)
with open("export.json", encoding="utf-8") as file:
    threads = [thread["name"] for thread in json.load(file)["threads"]]
loaded = load("export.json")
expect("the chosen metric is selected", True, f"Selected thread: t-0 ({threads[0]}," in loaded)
for number, metric in enumerate(threads):
    found = json.loads(profiler("thread", "functions", "--json", "--limit", "0", "--include-idle",
                                "--thread", f"t-{number}"))
    # Sampled addresses have their own names in a view; in the export they have their function's.
    options = [option for option in OPTIONS if option != "--leaves"]
    ours = json.loads(run(REPORT, "--self", "--all", "--format", "json", *options,
                          "--metric", metric, PROFILE))
    scale = 1e6 if found["weightType"] == "tracing-ms" else 1
    rows = [{"name": row["name"], "self": round(row["selfSamples"] * scale),
             "total": round(row["totalSamples"] * scale)} for row in found["functions"]]
    expect(f"{metric}: all in all", ours["kept"], sum(row["self"] for row in rows))
    theirs = by_name(rows, "name", "self", "total")
    for name, (own, dominated) in by_name(ours["rows"], "name", "self", "dominated").items():
        if sum(dominated) == 0:
            continue
        expect(f"{metric} of {name}", sum(own), sum(theirs[name][0]))
        # The time before main stands beside main there, not above it.
        if name == "[root]":
            continue
        # Functions that share a name may be on the same paths.
        if len(own) == 1 and len(theirs[name][1]) == 1:
            expect(f"{metric} of {name} and below", dominated, theirs[name][1])
profiler("stop", "--all")
sys.exit(1 if failures else 0)
