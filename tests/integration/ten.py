"""ten.py MEASURED REPORT PROFILE: compares what a program measured in each of its ten contexts with the
profile, and prints the largest difference of each kind in percent. MEASURED has lines "KIND CONTEXT AMOUNT".

Allocated bytes are exact. A wait may lack what a busy machine adds between the program's clock and the call. Faults
and CPU time belong to the context of the next sample, so only their order of size is checked.
"""
import subprocess
import sys

METRICS = {"cpu": "cpu", "sleep": "wait", "pipe": "wait", "futex": "wait", "epoll": "wait", "faults": "faults",
           "bytes": "allocated"}
ROUNDS, SHARE_NS, SLACK_NS = 3, 2_000_000, 1_000_000
measured_file, report, profile = sys.argv[1:]

paths = {}
for metric in set(METRICS.values()):
    text = subprocess.run([report, "--export", "folded", "--metric", metric, "-o", "-", profile],
                          capture_output=True, text=True, check=True).stdout
    paths[metric] = [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in text.splitlines()]


def recorded(kind, context):
    return sum(amount for names, amount in paths[METRICS[kind]]
               if context in names and (METRICS[kind] != "wait" or f"in_{kind}" in names))


def is_right(kind, context, amount, found):
    if kind == "bytes":
        return found == amount
    if kind in ("cpu", "faults"):
        return found > 0
    asked = ROUNDS * SHARE_NS * (int(context[-1]) + 1)
    return min(amount, asked) * 0.98 - SLACK_NS <= found <= amount * 1.02 + SLACK_NS


worst, wrong, rows = {}, 0, 0
for line in open(measured_file, encoding="utf-8"):
    kind, context, amount = line.split()[0], line.split()[1], int(line.split()[2])
    found = recorded(kind, context)
    rows += 1
    if not is_right(kind, context, amount, found):
        print("wrong:", kind, context, "measured", amount, "recorded", found)
        wrong += 1
    off = 100 * (found / amount - 1)
    if kind not in worst or abs(off) > abs(worst[kind]):
        worst[kind] = off
print(", ".join(f"{kind} {off:+.2f} %" for kind, off in worst.items()))
sys.exit(wrong != 0 or rows != 70)
