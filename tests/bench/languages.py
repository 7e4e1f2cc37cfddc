#!/usr/bin/env python3
"""languages.py [FOLDER] [--rounds N]: measures what the profiler costs in scripts, and what stacks of runtimes lose,
with the interpreters of this system and the build in FOLDER (build/release). Prints a table. CPU times, in turns."""
import argparse
import csv
import io
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = pathlib.Path(__file__).resolve().parent / "languages"
PROGRAMS = ROOT / "tests/integration/jit"
NODE = ["--perf-basic-prof", "--interpreted-frames-native-stack"]
JAVA = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--js-flags=--perf-basic-prof --interpreted-frames-native-stack"]


class Languages:
    def __init__(self, build, rounds, folder):
        self.fble_prof = build / "fble-prof"
        self.report = build / "report/fble-prof-report"
        self.rounds = rounds
        self.folder = folder

    def profiled(self, command, *options):
        return [self.fble_prof, "--out", self.folder / "mlmon.out", *options, *command]

    def run(self, command, capture=False):
        return measure.run(command, self.folder, {"HOME": self.folder}, capture=capture, may_fail=True)

    def prices(self, commands):
        """What each command prints: the least of the rounds."""
        least = [float("inf")] * len(commands)
        for _ in range(self.rounds):
            for i, command in enumerate(commands):
                least[i] = min(least[i], float(self.run(command, capture=True).output))
        return least

    def ratios(self, base, *others):
        """CPU time of each other command, divided by that of `base` in the same round."""
        rounds = []
        for _ in range(self.rounds):
            first = self.run(base).cpu
            rounds.append([self.run(command).cpu / first for command in others])
        return [statistics.median(column) for column in zip(*rounds)]

    def truncated(self, profile):
        """Percent of the time below [truncated]."""
        text = subprocess.run([self.report, "--self", "--all", "--format", "csv", profile], capture_output=True,
                              text=True, env=measure.environment({})).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        total = sum(int(row["self"]) for row in rows) or 1
        return 100 * sum(int(row["dominated"]) for row in rows if row["name"] == "[truncated]") / total

    def truncated_of(self, command):
        """The worst of the rounds, over all processes of the program."""
        worst = 0
        for _ in range(min(self.rounds, 3)):
            profiles = self.folder / "profiles"
            shutil.rmtree(profiles, ignore_errors=True)
            profiles.mkdir()
            self.run([self.fble_prof, "--out", profiles / "mlmon.out", *command])
            worst = max(worst, self.truncated(profiles))
        return worst

    # -- Rows: (what, target, measured) --

    def lua(self):
        hook = self.folder / "empty_hook.so"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", hook, SCRIPTS / "empty_hook.c"], check=True)
        for what, calls, target in (("call", 10_000_000, 40), ("resume", 2_000_000, 200)):
            script = ["lua5.4", SCRIPTS / "calls.lua", what, calls]
            plain, empty, ours = self.prices([script, [*script, hook], self.profiled(script, "--exact")])
            if what == "call":
                yield (f"Lua, a call with --exact, above an empty hook (plain {plain:.0f} ns, hook {empty:.0f})",
                       f"<= {target} ns", f"{ours - empty:.0f} ns")
            else:
                yield (f"Lua, a resume and yield with --exact (plain {plain:.0f} ns, hook {empty:.0f})",
                       f"<= {target} ns", f"{ours:.0f} ns, {ours - plain:.0f} above plain")

    def python(self):
        script = ["python3", SCRIPTS / "calls.py", "plain", 3_000_000]
        plain, ours, cprofile = self.prices([script, self.profiled(script, "--exact"),
                                             ["python3", SCRIPTS / "calls.py", "cprofile", 3_000_000]])
        yield (f"Python, a call with --exact (plain {plain:.0f} ns)", "<= 150 ns",
               f"{ours:.0f} ns, {ours - plain:.0f} above plain; cProfile {cprofile - plain:.0f} above plain")
        script = ["python3", SCRIPTS / "work.py"]
        with_names, without = self.ratios(script, self.profiled(script), self.profiled(script, "--no-python"))
        yield ("Python, sampled, against plain", "<= 1.05", f"{with_names:.3f} (--no-python {without:.3f})")

    def luajit(self):
        script = [PROGRAMS / "functions.lua", 12]
        ours, without, own = self.ratios(["luajit", *script], self.profiled(["luajit", *script]),
                                         self.profiled(["luajit", *script], "--no-lua"), ["luajit", "-jp=f", *script])
        yield ("LuaJIT, sampled, against plain", "<= 1.05", f"{ours:.3f} (--no-lua {without:.3f}; luajit -jp {own:.3f})")

    def depth(self):
        program = self.folder / "deep"
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", program, SCRIPTS / "deep.c"], check=True)
        deep, = self.ratios(self.profiled([program, 10]), self.profiled([program, 100_000]))
        yield "C, 100,000 frames at 1000 Hz, against 10 frames", "<= 1.05", f"{deep:.3f}"

    def stacks(self):
        if shutil.which("node"):
            yield "node", ["node", *NODE, PROGRAMS / "work.js"]
        if shutil.which("javac"):
            subprocess.run(["javac", "-d", self.folder, PROGRAMS / "Work.java"], check=True)
            yield "java", ["java", "-cp", self.folder, *JAVA, "Work"]
        if shutil.which("go"):
            subprocess.run(["go", "build", "-ldflags=-linkmode=external", "-o", self.folder / "work", PROGRAMS / "work.go"],
                           check=True, env={**os.environ, "GO111MODULE": "off", "HOME": str(self.folder)})
            yield "Go", [self.folder / "work"]
        if shutil.which("luajit"):
            yield "LuaJIT", ["luajit", PROGRAMS / "functions.lua", 4]
        if shutil.which("chromium"):
            page = self.folder / "page.html"
            page.write_text(f"<script>{(PROGRAMS / 'work.js').read_text()}</script>")
            yield "Chromium, all processes", ["chromium", *CHROMIUM, f"file://{page}"]

    def truncations(self):
        for name, command in self.stacks():
            yield f"[truncated], {name}", "< 5 %", f"{self.truncated_of(command):.1f} %"

    def rows(self):
        for program, part in (("lua5.4", self.lua), ("python3", self.python), ("luajit", self.luajit),
                              ("gcc", self.depth), ("sh", self.truncations)):
            if shutil.which(program):
                yield from part()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| what | target | measured |\n| --- | --- | --- |")
        for row in Languages(arguments.folder.resolve(), arguments.rounds, pathlib.Path(folder)).rows():
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
