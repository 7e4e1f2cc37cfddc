#!/usr/bin/env python3
"""Figures of a profile, taken from what the report prints for machines.

facts.py expect PROFILE           lines "expect CALLER CALLEE CALLS" on stdin hold ("*": any caller)
facts.py calls PROFILE A B        calls of B by A
facts.py share PROFILE F          percent of all self time that is F's
facts.py dominated PROFILE F      percent of all time that F dominates
facts.py ms PROFILE F             milliseconds that F dominates
facts.py fact PROFILE KEY         a value of --summary, nested keys joined by a dot
"""
import collections
import csv
import json
import os
import subprocess
import sys


def report(profile, *options):
    command = [os.environ["REPORT"], *options, profile]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {run.returncode}: {run.stderr.strip()}")
    return run.stdout


def table(profile, view):
    return list(csv.DictReader(report(profile, view, "--format", "csv").splitlines()))


def edges(profile):
    calls = collections.Counter()
    for row in table(profile, "--edges"):
        number = int(row["calls"] or 0)
        calls[row["caller"], row["callee"]] += number
        calls["*", row["callee"]] += number
    return calls


def column_share(profile, function, column):
    rows = table(profile, "--self")
    total = sum(float(row["self"]) for row in rows)
    own = sum(float(row[column]) for row in rows if row["name"] == function)
    return 100 * own / total if total else 0.0


def dominated_ms(profile, function):
    rows = table(profile, "--self")
    return sum(float(row["dominated"]) for row in rows if row["name"] == function) / 1e6


def check_expectations(profile):
    calls = edges(profile)
    wrong, seen = [], 0
    for line in sys.stdin:
        words = line.split()
        if len(words) != 4 or words[0] != "expect":
            continue
        seen += 1
        caller, callee, expected = words[1], words[2], int(words[3])
        if calls[caller, callee] != expected:
            wrong.append(f"{caller} -> {callee}: {calls[caller, callee]} calls, expected {expected}")
            if not expected:
                continue
            others = [f"{a} {n}" for (a, b), n in calls.items() if b == callee and a != "*"]
            wrong.append(f"  callers of {callee}: {', '.join(others) or 'none'}")
    if not seen:
        sys.exit("the program printed no expectations")
    if wrong:
        sys.exit("\n".join(wrong))


def fact(profile, key):
    value = json.loads(report(profile, "--summary", "--format", "json"))
    for part in key.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def main():
    what, profile, *rest = sys.argv[1:]
    if what == "expect":
        check_expectations(profile)
    elif what == "calls":
        print(edges(profile)[rest[0], rest[1]])
    elif what == "share":
        print(f"{column_share(profile, rest[0], 'self'):.3f}")
    elif what == "dominated":
        print(f"{column_share(profile, rest[0], 'dominated'):.3f}")
    elif what == "ms":
        print(round(dominated_ms(profile, rest[0])))
    elif what == "fact":
        print(fact(profile, rest[0]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
