#!/usr/bin/env python3
"""Compares the caller -> callee counts of two sources, over the hooked functions of one program.

compare_calls.py [--no-tail-callees] [--leave-out=FUNCTION] BINARY KIND:FILE KIND:FILE

KIND is `profile` (ours, by $REPORT --edges --format csv), `callgrind` (its output, written with
--compress-strings=no --compress-pos=no) or `gmon` (gprof's gmon.out). Prints the pairs that differ;
exit status 0: none does. --no-tail-callees leaves out functions that some other one jumps to:
callgrind takes a tail call for a call by the function that jumps, gprof and we go by the return
address. --leave-out=FUNCTION does so with another callee.
"""
import bisect
import collections
import csv
import os
import re
import struct
import subprocess
import sys


def source_name(symbol):
    """The function that a symbol is of: the compiler's copies and parts of one share its name, as
    they do in the report."""
    return re.sub(r"\.(isra|constprop|part|cold)(\.\d+)?", "", symbol)


def output_of(*command):
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {run.returncode}: {run.stderr.strip()}")
    return run.stdout


def read_code(binary):
    """(functions that call a hook on entry or have room for one, functions that another one jumps to)."""
    hooked, jumped_to, function = set(), set(), None
    nops = 0  # at the start of the function: five are room for a hook
    for line in output_of("objdump", "-d", "--no-show-raw-insn", binary).splitlines():
        start = re.match(r"[0-9a-f]+ <([^>]+)>:", line)
        if start:
            function, nops = start.group(1), 0
            continue
        nops = nops + 1 if line.endswith("\tnop") else nops if "endbr64" in line else 9
        if nops == 5:
            hooked.add(source_name(function))
        elif re.search(r"call.*<(__fentry__|mcount|_mcount|__cyg_profile_func_enter)\b", line):
            hooked.add(source_name(function))
        else:
            jump = re.search(r"\tj[a-z]+ +[0-9a-f]+ <([^>+]+)>", line)
            if jump and jump.group(1) != function:
                jumped_to.add(source_name(jump.group(1)))
    return hooked, jumped_to


def profile_calls(path, _binary):
    calls = collections.Counter()
    text = output_of(os.environ["REPORT"], "--edges", "--format", "csv", path)
    for row in csv.DictReader(text.splitlines()):
        calls[row["caller"], row["callee"]] += int(row["calls"] or 0)
    return calls


def callgrind_calls(path, _binary):
    calls = collections.Counter()
    caller = callee = None
    with open(path) as file:
        for line in file:
            if line.startswith("fn="):
                caller = line[3:].strip()
            elif line.startswith("cfn="):
                callee = line[4:].strip()
            elif line.startswith("calls="):
                # A recursion level is appended to a name as 'N.
                pair = caller.split("'")[0], callee.split("'")[0]
                calls[pair] += int(line[6:].split()[0])
    return calls


def gmon_calls(path, binary):
    starts, names = [], []
    for line in output_of("nm", "-n", "--defined-only", binary).splitlines():
        address, kind, name = line.split(maxsplit=2)
        if kind in "tT":
            starts.append(int(address, 16))
            names.append(name)
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == b"gmon", "not a gmon.out"
    calls = collections.Counter()
    at = 20
    while at < len(data):
        tag = data[at]
        at += 1
        if tag == 0:  # histogram: low, high, buckets, rate, dimension
            buckets = struct.unpack_from("<QQi", data, at)[2]
            at += 16 + 4 + 4 + 15 + 1 + 2 * buckets
        elif tag == 1:  # arc
            caller, callee, count = struct.unpack_from("<QQi", data, at)
            at += 20
            pair = tuple(names[bisect.bisect_right(starts, pc) - 1] for pc in (caller, callee))
            calls[pair] += count
        else:
            sys.exit(f"{path}: unknown record {tag}")
    return calls


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    if len(arguments) != 3:
        sys.exit(__doc__)
    binary = arguments[0]
    hooked, jumped_to = read_code(binary)
    callees = hooked - {o.split("=", 1)[1] for o in options if o.startswith("--leave-out=")}
    if "--no-tail-callees" in options:
        callees -= jumped_to
    readers = {"profile": profile_calls, "callgrind": callgrind_calls, "gmon": gmon_calls}
    sources = []
    for argument in arguments[1:]:
        kind, path = argument.split(":", 1)
        calls = readers[kind](path, binary)
        by_source = collections.Counter()
        for (caller, callee), n in calls.items():
            by_source[source_name(caller), source_name(callee)] += n
        sources.append((kind, {pair: n for pair, n in by_source.items()
                               if n and pair[0] in hooked and pair[1] in callees}))
    (kind_a, a), (kind_b, b) = sources
    differing = [pair for pair in a.keys() | b.keys() if a.get(pair, 0) != b.get(pair, 0)]
    for pair in sorted(differing):
        print(f"{pair[0]} -> {pair[1]}: {kind_a} {a.get(pair, 0)}, {kind_b} {b.get(pair, 0)}")
    print(f"{len(a.keys() | b.keys())} pairs, {sum(b.values())} calls, {len(differing)} differ "
          f"({kind_a}, {kind_b})")
    sys.exit(1 if differing or not a else 0)


if __name__ == "__main__":
    main()
