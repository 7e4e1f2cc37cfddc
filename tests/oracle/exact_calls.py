#!/usr/bin/env python3
"""Compares how often each function of a module was called: a profile of --exact against callgrind.

exact_calls.py MODULE PLANS PROFILE CALLGRIND [MAY_DIFFER]

MODULE is the file of code, PLANS the folder of plans, PROFILE ours, CALLGRIND its output, written
with --dump-instr=yes --compress-strings=no --compress-pos=no. Functions go by their addresses. If
MODULE has no symbols, callgrind does not know tail calls, and counts too few. All functions that the plan counts must have equal counts, but for MAY_DIFFER
of them (programs with random numbers). Exit status 0: they have.
"""
import collections
import csv
import glob
import os
import re
import struct
import subprocess
import sys

HEADER, TRAMPOLINE, SITE, REFUSAL = 124, 96, 8, 12
PART, STUB = 1, 4  # plan::Reason: no functions


def plan_path(module, folder):
    text = subprocess.run(["readelf", "-n", module], capture_output=True, text=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", text)
    paths = glob.glob(os.path.join(folder, (found.group(1) if found else "") + "*.plan"))
    if len(paths) != 1:
        sys.exit(f"{module}: {len(paths)} plans in {folder}")
    return paths[0]


def plan_of(module, folder):
    """(functions that count all their calls, those that do not)."""
    data = open(plan_path(module, folder), "rb").read()
    trampolines, sites, refusals = struct.unpack_from("<3I", data, 12)
    counted = {struct.unpack_from("<I", data, HEADER + TRAMPOLINE * i)[0] for i in range(trampolines)}
    start = HEADER + TRAMPOLINE * trampolines + SITE * sites
    listed = [struct.unpack_from("<IIH", data, start + REFUSAL * i) for i in range(refusals)]
    refused = {begin for begin, _, reason in listed if reason not in (PART, STUB)}
    return counted - refused, refused


def callgrind_calls(path, module):
    """Calls by the callee's address in `module`."""
    calls = collections.Counter()
    own = callee = None
    name = os.path.basename(module)
    with open(path) as file:
        for line in file:
            if line.startswith("ob="):
                own = line[3:].strip()
            elif line.startswith("cob="):
                callee = line[4:].strip()
            elif line.startswith("calls="):
                count, address = line[6:].split()[:2]
                # libx.so.0 may be a link to libx.so.0.8.6.
                if os.path.basename(callee or own or "").startswith(name):
                    calls[int(address, 16)] += int(count)
                callee = None
    return calls


def profile_calls(path, module):
    calls = collections.Counter()
    name = os.path.basename(module)
    text = subprocess.run([os.environ["REPORT"], "--self", "--no-symbols", "--format", "csv", path],
                          capture_output=True, text=True, check=True).stdout
    for row in csv.DictReader(text.splitlines()):
        match = re.fullmatch(re.escape(name) + r"\+0x([0-9a-f]+)", row["name"])
        if match:
            calls[int(match.group(1), 16)] += int(row["calls"] or 0)
    return calls


def main():
    module, plans, profile, callgrind = sys.argv[1:5]
    may_differ = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    counted, refused = plan_of(module, plans)
    theirs, ours = callgrind_calls(callgrind, module), profile_calls(profile, module)
    entered = sorted(counted & (theirs.keys() | ours.keys()))
    wrong = [f for f in entered if theirs[f] != ours[f]]
    for function in wrong[:20]:
        print(f"+0x{function:x}: callgrind {theirs[function]}, ours {ours[function]}")
    # Leaves out callgrind's calls of anything but a function's start (PLT stubs). Direct calls of some functions are
    # counted, though those through pointers are not.
    equal = sum(theirs[f] for f in entered)
    covered = equal + sum(min(theirs[f], ours[f]) for f in refused)
    whole = equal + sum(theirs[f] for f in refused)
    print(f"{len(entered) - len(wrong)} of {len(entered)} functions equal; "
          f"{covered} of {whole} calls covered ({100 * covered / max(whole, 1):.4f} %)")
    if len(wrong) > may_differ or not entered:
        sys.exit(1)


if __name__ == "__main__":
    main()
