"""How true the times are: the self-time shares of hooked runs beside perf's samples of the *plain*
build and callgrind's instructions, the sums beside the clock, and the tree's growth over time.

A function without hooks (libc's, assembly) belongs to the hooked function that called it, in all
three: perf's samples are counted at their nearest frame with hooks, callgrind's costs are handed up to
the callers.
"""
import collections
import pathlib
import re
import statistics
import subprocess
import sys
import time

import builds
import measure
import our_report

sys.path.append(str(pathlib.Path(__file__).parents[1] / "oracle"))
import mlmon  # noqa: E402: the tests' own reader knows the header's layout

RATES = (250, 1000, 4000)
TOP = 20
LENGTH = 5.0  # of the workload's size: some two seconds of plain run
# The plain runs that times are taken from: slowly sampled, as the kernel's price of a sample is
# in them, and so several.
PLAIN_RATE, PLAIN_RUNS = 500, 3


def measure_accuracy(context, workloads):
    return {workload.name: of_workload(context, workload) for workload in workloads
            if workload.name not in ("fib", "zstd-threads")}


def of_workload(context, workload):
    print(f"  {workload.name}: plain, perf, {', '.join(map(str, RATES))} Hz", flush=True)
    hooked = hooked_functions(workload.binary(context, "fentry"))
    with measure.scratch(context.cache) as cwd:
        # The median of several: the plain runs of some programs differ by a fifth.
        plain_cpu = statistics.median(workload.run(context, "plain", LENGTH, cwd=cwd).cpu
                                      for _ in range(PLAIN_RUNS))
        # Runs after them: otherwise perf's first run would read its input from the disk.
        reference = perf_shares(context, workload, cwd, hooked)
    result = {"rates": {}, "plain_cpu": plain_cpu, "perf_samples": reference["samples"]}
    top = sorted(reference["shares"], key=reference["shares"].get, reverse=True)[:TOP]
    for rate in RATES:
        with measure.scratch(context.cache) as cwd:
            profile = cwd / "mlmon.out"
            curve = []
            run = workload.run(context, "fentry", LENGTH, cwd=cwd,
                               env={"LD_PRELOAD": context.library, "FBLEPROF_OUT": profile,
                                    "FBLEPROF_RATE": rate},
                               while_running=lambda process: poll_nodes(profile, curve))
            facts = our_report.summary(context, profile)
            shares, total_ns = our_shares(context, profile)
            entry = {"self_seconds": total_ns / 1e9, "self_to_plain": total_ns / 1e9 / plain_cpu,
                     "charged_to_rusage": facts["cpu_ns"] / 1e9 / run.cpu, "cpu": run.cpu,
                     "samples": facts["samples"], "source": facts["sample_source"],
                     **errors(shares, reference["shares"], top)}
            result["rates"][str(rate)] = entry
            if rate == 1000:
                result["functions"] = [[name, reference["shares"][name], shares.get(name, 0.0)]
                                       for name in top]
                result["amounts"] = amounts_of(context, profile, reference["shares"])
                result["times_from_plain"] = times_from_plain(context, workload, cwd, profile,
                                                              reference["shares"], top)
                result["growth"] = curve + [[run.wall, facts["node_count"]]]
    counts = context.cache / f"callgrind.{workload.name}"
    if counts.exists():
        instructions = callgrind_shares(counts, hooked)
        result["callgrind"] = errors(instructions, reference["shares"], top)
        for row in result["functions"]:
            row.append(instructions.get(row[0], 0.0))
    return result


def times_from_plain(context, workload, cwd, profile, reference, top):
    """The hooked run's profile with the times of plain runs, each beside an unsampled one."""
    options = []
    plain_cpu = 0.0
    for turn in range(PLAIN_RUNS):
        plain_profile = cwd / f"plain.{turn}"
        plain_cpu += workload.run(context, "plain", LENGTH, cwd=cwd).cpu
        workload.run(context, "plain", LENGTH, cwd=cwd,
                     env={"LD_PRELOAD": context.library, "FBLEPROF_OUT": plain_profile,
                          "FBLEPROF_RATE": PLAIN_RATE})
        options += ["--times-from", plain_profile]
    shares, total_ns = our_shares(context, profile, *options)
    return {"self_to_plain": total_ns / 1e9 / plain_cpu, **errors(shares, reference, top)}


def errors(shares, reference, top):
    """Percentage points between two sets of shares, over the reference's top functions."""
    differences = [abs(shares.get(name, 0.0) - reference[name]) for name in top]
    worst = max(range(len(top)), key=differences.__getitem__)
    return {"worst_points": differences[worst], "worst_function": top[worst],
            "mean_points": sum(differences) / len(differences)}


# Names: a clone (.part.0, .cold, .isra.0) counts as its function; C++ names are demangled.
def plain_name(linkage_name):
    return re.split(r"\.(?:part|isra|constprop|cold|lto_priv|localalias)\b", linkage_name)[0]


def demangled(names):
    """{linkage name: display name} for many at once."""
    names = list(names)
    lines = subprocess.run(["c++filt"], input="\n".join(map(plain_name, names)), capture_output=True,
                           text=True, check=True).stdout.split("\n")
    return dict(zip(names, lines))


def hooked_functions(binary):
    """Linkage names, without clone suffixes, of all functions that call the hook."""
    hooked, function = set(), None
    for line in builds.run(["objdump", "-d", "--no-show-raw-insn", binary]).splitlines():
        if line.endswith(">:"):
            function = line[line.index("<") + 1:-2]
        elif "__fentry__" in line:
            hooked.add(plain_name(function))
    return hooked


def shares_of(amounts):
    names = demangled(amounts)
    total = sum(amounts.values()) or 1
    shares = collections.Counter()
    for name, amount in amounts.items():
        shares[names[name]] += 100.0 * amount / total
    return shares


def our_shares(context, profile, *options):
    rows = our_report.self_times(context, profile, *options)
    total = sum(amount for _, amount, _ in rows)
    amounts = collections.Counter()
    for name, amount, _ in rows:
        amounts[plain_name(name)] += 100.0 * amount / (total or 1)
    return amounts, total


def amounts_of(context, profile, plain_shares):
    """{function: its share of the plain run in percent, and what its hooked profile has}."""
    amounts = collections.defaultdict(
        lambda: {"plain_share": 0.0, "self": 0.0, "overhead": 0.0, "calls": 0, "calls_made": 0})
    for name, share in plain_shares.items():
        amounts[name]["plain_share"] = share
    calls_of = {}  # as the report writes them: two rows may be parts of one function
    for metric, key in (("cpu", "self"), ("overhead", "overhead")):
        for name, amount, calls in our_report.self_times(context, profile, "--metric", metric):
            amounts[plain_name(name)][key] += amount
            calls_of[name] = calls
    for name, calls in calls_of.items():
        amounts[plain_name(name)]["calls"] += calls
    for caller, calls in our_report.calls_made(context, profile):
        amounts[plain_name(caller)]["calls_made"] += calls
    return amounts


def perf_shares(context, workload, cwd, hooked):
    data = cwd / "perf.data"
    workload.run(context, "plain", LENGTH, cwd=cwd,
                 prefix=["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000",
                         "--call-graph", "dwarf,4096", "-o", data, "--"])
    script = subprocess.run(["perf", "script", "--no-inline", "--no-demangle", "-F", "ip,sym", "-i", data],
                            capture_output=True, text=True).stdout
    amounts = collections.Counter()
    for stack in script.split("\n\n"):
        frames = [line.split(maxsplit=1)[1].strip() for line in stack.splitlines()
                  if len(line.split(maxsplit=1)) == 2]
        if not frames:
            continue
        owner = next((plain_name(f) for f in frames if plain_name(f) in hooked), "[root]")
        amounts[owner] += 1
    return {"shares": shares_of(amounts), "samples": sum(amounts.values())}


def callgrind_shares(path, hooked):
    own = collections.Counter()
    callers = collections.defaultdict(collections.Counter)  # callee -> caller -> inclusive cost
    function = callee = None
    after_call = False
    with open(path) as file:
        for line in file:
            if line.startswith("fn="):
                function = plain_name(line[3:].strip().split("'")[0])
            elif line.startswith("cfn="):
                callee = plain_name(line[4:].strip().split("'")[0])
            elif line.startswith("calls="):
                after_call = True
            elif line[:1].isdigit() or line[:1] in "+-*":
                cost = int(line.split()[1])
                if after_call:
                    callers[callee][function] += cost
                    after_call = False
                else:
                    own[function] += cost
    result = collections.Counter()
    for _ in range(40):  # unhooked functions call each other: a few steps up to a hooked one
        moved = collections.Counter()
        for name, cost in own.items():
            above = callers.get(name)
            if name in hooked or not above or sum(above.values()) == 0:
                result[name if name in hooked else "[root]"] += cost
                continue
            total = sum(above.values())
            for caller, weight in above.items():
                moved[caller] += cost * weight / total
        own = moved
        if sum(own.values()) < 1:
            break
    return shares_of(result)


def poll_nodes(profile, curve):
    """Adds (seconds since the start, nodes) of a live profile."""
    try:
        with open(profile, "rb") as file:
            data = file.read(mlmon.HEADER.size)
    except OSError:
        return
    if len(data) == mlmon.HEADER.size and data[:8] == b"FBLEPROF":
        header = dict(zip(mlmon.HEADER_NAMES, mlmon.HEADER.unpack(data)))
        seconds = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - header["start_monotonic_ns"]) / 1e9
        curve.append([seconds, header["node_count"]])
