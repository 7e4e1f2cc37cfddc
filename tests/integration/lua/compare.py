"""compare.py SCRIPT COUNTS <CSV: the calls of the script's functions, as the report tells them, are
those that counter.lua saw. Prints what differs."""
import csv
import os
import sys

script, counts = sys.argv[1:]
with open(counts) as lines:
    seen = {int(line): int(calls) for line, calls in (pair.split() for pair in lines)}
told = {}
for row in csv.DictReader(sys.stdin):
    # Compare whole paths: a script of the same name may be elsewhere.
    if os.path.realpath(row["file"]) == os.path.realpath(script):
        line = int(row["line"] or 0)
        told[line] = told.get(line, 0) + int(row["calls"] or 0)
for line in sorted(seen.keys() | told.keys()):
    if seen.get(line) != told.get(line):
        print(f"line {line}: a hook saw {seen.get(line)} calls, the report tells {told.get(line)}")
print(f"{len(seen)} functions, {sum(seen.values())} calls")
