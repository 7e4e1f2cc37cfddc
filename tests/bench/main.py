#!/usr/bin/env python3
"""scripts/bench [--quick] [--only NAME]...: measures fbleprof beside its peers.

Installs what that needs, builds the workloads from Debian's sources (in build/bench, once), runs all
in pairs, and writes docs/PERFORMANCE.md and docs/performance.svg: about half an hour once all is built.

  --quick      small sizes and few rounds, to see that it works; figures mean little
  --only NAME  only this part (prices, xray, signals, small, accuracy, exact, reports, large, compilers, memory, waits)
               or only this workload; may be given again. Prints, and writes to build/bench instead of docs/
  --large      also measure large programs, which takes half an hour more: random ones of up to
               seven million contexts, cppcheck, gcc and clang
  --continue   keep the parts that the run before this one has measured; with --only, measure these
               again and put them in their place
  --no-setup   do not look for missing packages
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import accuracy
import builds
import compilers
import exact
import large
import memory
import packages
import prices
import reports
import signals
import small
import waits
import workloads
import write_up

PARTS = ["prices", "xray", "signals", "small", "accuracy", "reports"]
ON_DEMAND = ["exact", "large", "compilers", "memory", "waits"]
BY_WORKLOAD = ("prices", "xray", "accuracy")


class Context:
    """Where things are, and how much is to be run."""

    def __init__(self, root, quick):
        self.root = root
        self.cache = root / "build/bench"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.quick = quick
        self.scale = 0.25 if quick else 1.0
        self.rounds = 2 if quick else None  # None: each workload's own number
        self.builder = builds.Builder(root, self.cache)
        build = root / "build/release"
        self.library = build / "libfbleprof.so"
        self.report = build / "report/fble-prof-report"
        self.empty_hooks = self.own_library("empty_hooks.c")
        self.empty_sampler = self.own_library("empty_sampler.c")

    def own_library(self, source):
        return self.builder.own(pathlib.Path(source), flags=["-fPIC", "-shared"])

    def build_project(self):
        for command in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release"]):
            builds.run(command, cwd=self.root)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--large", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--continue", dest="resume", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-setup", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = PARTS + ON_DEMAND + [workload.name for workload in workloads.WORKLOADS]
    for name in arguments.only:
        if name not in names:
            parser.error(f"--only {name}: there are {', '.join(names)}")
    return arguments


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), "unknown")
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    virtual = "hypervisor" in open("/proc/cpuinfo").read()
    return {"cpu": model, "cores": os.cpu_count(), "kernel": os.uname().release, "virtual": virtual,
            "compiler": compiler, "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d")}


def main():
    arguments = parse_arguments()
    root = pathlib.Path(__file__).resolve().parents[2]
    if not arguments.no_setup:
        packages.install(root)
    context = Context(root, arguments.quick)
    context.build_project()

    chosen_parts = [part for part in PARTS + ON_DEMAND if part in arguments.only] or PARTS
    if arguments.large and "large" not in chosen_parts:
        chosen_parts = [*chosen_parts, "large", "compilers"]
    chosen = [w for w in workloads.WORKLOADS if w.name in arguments.only] or workloads.WORKLOADS
    for workload in chosen if set(chosen_parts) & {*BY_WORKLOAD, "small"} else []:
        for variant in workload.variants:
            workload.binary(context, variant)
    results = {"machine": machine(), "quick": arguments.quick}
    steps = {
        "prices": lambda: prices.measure_prices(context, chosen),
        "xray": lambda: prices.measure_xray(context, chosen),
        "signals": lambda: signals.measure_signals(context),
        "small": lambda: small.measure_small(context),
        "accuracy": lambda: accuracy.measure_accuracy(context, chosen),
        "reports": lambda: reports.measure_reports(context),
        "exact": lambda: exact.measure_exact(context),
        "large": lambda: large.measure_large(context),
        "compilers": lambda: compilers.measure_compilers(context),
        "memory": lambda: memory.measure_memory(context),
        "waits": lambda: waits.measure_waits(context),
    }
    # The named parts are measured again, in a run that was complete.
    again = arguments.resume and arguments.only
    complete = not arguments.quick and (again or not arguments.only)
    results_file = context.cache / ("results.json" if complete else "results.partial.json")
    if arguments.resume and results_file.exists():
        results = json.loads(results_file.read_text())
    for part in chosen_parts:
        if part in results and not again:
            continue
        print(f"{part} ({results.get('seconds', 0):.0f} s so far)", flush=True)
        started = time.monotonic()
        measured = steps[part]()
        if again and part in BY_WORKLOAD:
            measured = {**results[part], **measured}
        results[part] = measured
        if again:
            results.setdefault("again", []).append(" ".join([part, *(
                workload.name for workload in chosen if part in BY_WORKLOAD)]))
        results["seconds"] = results.get("seconds", 0) + time.monotonic() - started
        results_file.write_text(json.dumps(results, indent=1))
    target = root / "docs" if complete else context.cache
    write_up.write(results, target)
    print((target / "PERFORMANCE.md").read_text())


if __name__ == "__main__":
    sys.exit(main())
