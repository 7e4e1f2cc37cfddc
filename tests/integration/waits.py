"""waits.py MEASURED <FOLDED: compares waits with what the program measured itself.

MEASURED has lines "waited KIND CONTEXT NS", the sum of two rounds. A wait is right if it is within 2 %
of what the program measured. Waits too short to be charged alone are charged in sums, each to the call
that completes it: such a sum may be added. The time that the program itself waited for a
processor between its clock and the call is in its figure and in no call: what a busy machine adds
this way may be missing, down to the length that the program asked for.
"""
import re
import sys

ROUNDS, SHARE_NS, SLACK_NS = 2, 1_000_000, 1_000_000
SUM_OF_SHORT_NS = 100_000

measured = {}
for line in open(sys.argv[1], encoding="utf-8"):
    if found := re.match(r"waited (\w+) (context_\d+) (\d+)", line):
        measured[found[1], found[2]] = int(found[3])
found = dict.fromkeys(measured, 0)
for line in sys.stdin:
    path, ns = line.rsplit(" ", 1)
    names = [name.split("(")[0] for name in path.split(";")]
    kinds = [name[3:] for name in names if name.startswith("in_")]
    contexts = [name for name in names if re.fullmatch(r"context_\d", name)]
    if kinds and contexts and (kinds[0], contexts[0]) in found:
        found[kinds[0], contexts[0]] += int(ns)
wrong = 0
for key, ns in measured.items():
    asked = ROUNDS * SHARE_NS * (int(key[1][-1]) + 1)
    least = min(ns * 0.98, asked * (0.98 if key[0] in ("sleep", "pipe", "futex", "epoll") else 0.9))
    if not least - SLACK_NS <= found[key] <= ns * 1.02 + SUM_OF_SHORT_NS:
        print(*key, "measured", ns, "asked for", asked, "recorded", found[key])
        wrong += 1
total, recorded = sum(measured.values()), sum(found.values())
print(f"{recorded / total:.4f} of what was measured, {wrong} of {len(measured)} wrong")
sys.exit(wrong != 0 or len(measured) != 60)
