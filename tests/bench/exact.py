"""What counting every call of Debian's own, unmodified programs costs (--exact), beside callgrind and uftrace's
dynamic tracing; how many of their calls are counted; what making a plan and a start with one takes."""
import dataclasses
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

import measure
import our_report
import verdicts
import workloads

# callgrind and uftrace run a tenth of the work, and are compared with a plain run of that tenth.
PART = 0.1
# The text that is read for a plan: executable segments.
EXECUTABLE = re.compile(r"LOAD +\S+ +\S+ +\S+ +\S+ +(\S+) +\S* *R E")


@dataclasses.dataclass
class Program(workloads.Workload):
    """A workload of an installed program; `module` is the file of code whose calls are compared."""
    module: str = ""
    options: tuple = ("--exact",)
    target: float = 2.3
    variants: tuple = ()

    def binary(self, context, variant):
        # callgrind gets a copy that has symbols, if the module is the program.
        copy = context.cache / "symbols" / pathlib.Path(self.module).name
        is_program = shutil.which(self.recipe) and os.path.realpath(shutil.which(self.recipe)) == self.module
        return copy if variant == "symbols" and is_program else self.recipe


class RedisServer(workloads.Redis, Program):
    """redis-tools has the server, too, under another name: the package of the server would start it."""

    def binary(self, context, variant):
        link = context.cache / f"redis.{variant}" / "redis-server"
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(context.cache / "symbols" / pathlib.Path(self.module).name
                        if variant == "symbols" else self.module)
        return link


PYTHON = """
import sys
words = {}
for i in range(int(sys.argv[1])):
    word = format(i * 7919 % 10007, 'x')
    words.setdefault(word[::-1], []).append(word.upper() + str(len(words)))
print(sum(len(''.join(sorted(v))) for v in words.values()))
"""
PERL = "my %h; for my $i (1 .. $ARGV[0]) { $h{$i % 1000} .= chr(65 + $i % 26); " \
       "$h{x} = join ',', reverse split //, $i } print length(join '', map { $h{$_} } sort keys %h), qq{\\n}"
QUERY = "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < {0}) " \
        "insert into t select i, 'row ' || i * 7919 % 1009 from n; create index tb on t(b); " \
        "select count(*), max(b) from t where b like '%9%'; delete from t where a % 7 = 0; select sum(a) from t;"


def library(name):
    text = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"{re.escape(name)} .*=> (\S+)", text).group(1)


def programs():
    return [
        Program("lua", "lua5.4: closures and calls", "lua5.4",
                lambda context, size: [context.root / "tests/bench/lua/calls.lua", size], 4000,
                module="/usr/bin/lua5.4", options=("--exact", "--no-lua"), target=2.0),
        Program("sqlite3", "sqlite3: inserts and queries", "sqlite3",
                lambda context, size: [":memory:", QUERY.format(size)], 400000, module=library("libsqlite3.so.0")),
        Program("python3", "python3.11: strings and dictionaries", "/usr/bin/python3.11",
                lambda context, size: ["-c", PYTHON, size], 600000, module="/usr/bin/python3.11",
                options=("--exact=program", "--no-python")),
        Program("perl", "perl: strings and hashes", "perl",
                lambda context, size: ["-e", PERL, size], 700000, module="/usr/bin/perl"),
        Program("git", "git log --stat", "git",
                lambda context, size: ["-C", context.root, "log", "--stat", "-n", size], 400, module="/usr/bin/git"),
        RedisServer("redis", "redis-server under redis-benchmark", None, None, 40000,
                    module=os.path.realpath(shutil.which("redis-check-rdb"))),
    ]


def ours(context, program, profile):
    return [context.library.parent / "fble-prof", *program.options, "-o", profile]


def prices(context, program):
    """CPU time of plain and counted runs, in turn, and what the counted run recorded."""
    plain, exact, facts = [], [], None
    for turn in range(context.rounds or program.rounds):
        print(f"  exact: {program.title} ({turn + 1})", flush=True)
        with measure.scratch(context.cache) as cwd:
            plain.append(program.run(context, "plain", cwd=cwd).cpu)
            profile = cwd / "mlmon.out"
            exact.append(program.run(context, "plain", prefix=ours(context, program, profile), cwd=cwd).cpu)
            facts = our_report.summary(context, profile)
    return {"plain": measure.spread(plain), "ratio": measure.ratios(exact, plain),
            "calls": facts["calls"], "contexts": facts["node_count"]}


def plan_of(context, program):
    """Makes the module's plan anew: its path, the CPU time that took, and the bytes of code read."""
    folder = context.cache / "plans"
    folder.mkdir(exist_ok=True)
    notes = subprocess.run(["readelf", "-n", program.module], capture_output=True, text=True, check=True).stdout
    plan = folder / (re.search(r"Build ID: (\w+)", notes).group(1) + ".plan")
    run = measure.run([context.library.parent / "fble-prof", "--plan", plan, program.module], folder)
    segments = subprocess.run(["readelf", "-lW", program.module], capture_output=True, text=True, check=True).stdout
    trampolines, _, refusals = struct.unpack_from("<3I", plan.read_bytes(), 12)
    return {"cpu": run.cpu, "bytes": sum(int(size, 16) for size in EXECUTABLE.findall(segments)),
            "rewritten": trampolines, "refused": refusals}


def against_others(context, program):
    """callgrind's and uftrace's prices, and how many of the calls that callgrind counts are counted by us."""
    oracle = context.root / "tests/oracle"
    plans = context.cache / "plans"
    copy = context.cache / "symbols" / pathlib.Path(program.module).name
    copy.parent.mkdir(exist_ok=True)
    subprocess.run([sys.executable, oracle / "add_symbols.py", program.module, plans, copy], check=True)
    copy.chmod(0o755)
    result = {}
    with measure.scratch(context.cache) as cwd:
        plain = program.run(context, "plain", PART, cwd=cwd).cpu
        profile, counts = cwd / "mlmon.out", cwd / "callgrind.out"
        program.run(context, "plain", PART, ours(context, program, profile), cwd=cwd)
        print(f"  exact: {program.title}, callgrind", flush=True)
        callgrind = program.run(
            context, "symbols", PART, ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-strings=no",
                                       "--compress-pos=no", f"--callgrind-out-file={counts}"],
            {"LD_LIBRARY_PATH": copy.parent, "PYTHONHOME": "/usr"}, cwd, may_fail=True)
        result["callgrind"] = callgrind.cpu / plain
        compared = subprocess.run(
            [sys.executable, oracle / "exact_calls.py", program.module, plans, profile, counts],
            capture_output=True, text=True, check=False, env={**os.environ, "REPORT": str(context.report)}).stdout
        found = re.search(r"(\d+) of (\d+) functions equal.*\((\S+) %\)", compared)
        result.update(equal=int(found[1]), entered=int(found[2]), covered=float(found[3]))
        print(f"  exact: {program.title}, uftrace", flush=True)
        traced = program.run(context, "plain", PART, ["uftrace", "record", "--force", "-P", ".", "-d", cwd / "uftrace"],
                             cwd=cwd, may_fail=True)
        result["uftrace"] = traced.cpu / plain if traced.status == 0 else f"died ({traced.status})"
    return result


def start(context, program, arguments):
    """Milliseconds that --exact with a plan adds to the start of a program that does nothing."""
    differences = []
    with measure.scratch(context.cache) as cwd:
        command = [shutil.which(program.recipe), *arguments]
        exact = [*ours(context, program, cwd / "mlmon.out"), *command]
        for _ in range(5 if context.quick else 20):
            times = []
            for each in (command, exact):
                begin = time.monotonic()
                subprocess.run(each, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=True)
                times.append(time.monotonic() - begin)
            differences.append((times[1] - times[0]) * 1000)
    return measure.spread(differences)


def measure_exact(context):
    # The same plans in all runs, and the same order of hashed keys.
    os.environ |= {"XDG_CACHE_HOME": str(context.cache / "cache"), "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}
    results = []
    for program in programs():
        one = {"title": program.title, "target": program.target, "plan": plan_of(context, program)}
        with measure.scratch(context.cache) as cwd:  # makes and keeps the plans of all modules
            program.run(context, "plain", PART, ours(context, program, cwd / "mlmon.out"), cwd=cwd)
        one |= {**prices(context, program), **against_others(context, program)}
        if program.recipe in ("lua5.4", "perl", "git"):
            one["start"] = start(context, program, ["--version"] if program.recipe == "git" else ["-e", ""])
        results.append(one)
    return results


def table_rows(results):
    def others(value):
        return value if isinstance(value, str) else f"{value:.0f}"
    return [[one["title"], f"{one['plain']['median']:.2f}", verdicts.ratio(one["ratio"]), others(one["callgrind"]),
             others(one["uftrace"]), f"{one['calls'] / 1e6:.1f}", f"{one['contexts']:,}", f"{one['covered']:.3f}",
             f"{one['equal']} of {one['entered']}"] for one in results["exact"]]


def plan_rows(results):
    return [[one["title"].split(":")[0], f"{one['plan']['bytes'] / 1e6:.1f} MB",
             f"{one['plan']['cpu']:.2f} s ({one['plan']['cpu'] / one['plan']['bytes'] * 1e6:.2f} s a MB)",
             f"{one['start']['median']:.1f} ms" if "start" in one else ""] for one in results["exact"]]


def rows(results):
    """Their targets."""
    found = [verdicts.Row(f"--exact, {one['title']}, against plain", f"≤ {one['target']:.1f}",
                          f"{one['ratio']['median']:.2f}", one["ratio"]["median"] <= one["target"])
             for one in results["exact"]]
    worst = min(results["exact"], key=lambda one: one["covered"])
    slowest = max(one["plan"]["cpu"] / one["plan"]["bytes"] * 3e6 for one in results["exact"])
    starts = max(one["start"]["median"] for one in results["exact"] if "start" in one)
    return [*found,
            verdicts.Row("--exact, calls that are counted", "≥ 99.9 %", f"{worst['covered']:.3f} %",
                         worst["covered"] >= 99.9, f"the least: {worst['title']}"),
            verdicts.Row("--exact, a plan for 3 MB of code", "≤ 1 s", f"{slowest:.2f} s", slowest <= 1),
            verdicts.Row("--exact, start with kept plans", "≤ 20 ms", f"{starts:.1f} ms", starts <= 20)]
