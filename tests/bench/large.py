"""What a call costs against the number of contexts: random programs of 300 to seven million contexts,
beside gprof and uftrace; the same past the memory limit, with --depth, on two threads, and where each
call makes a context; and cppcheck, a large C++ program, on a file of its own source."""
import dataclasses
import subprocess
import sys

import builds
import measure
import our_report
import verdicts

# One core: a thread that moves to the other finds cold caches there. uftrace needs more than one,
# as its writer threads run beside the program.
PINNED = ["taskset", "-c", "1"]
# gcc's hooks also work with the plain profile start of libc: gprof gets our objects.
VARIANTS = {"plain": ([], []), "fentry": (["-pg", "-mfentry"], []),
            "gprof": (["-pg", "-mfentry"], ["-pg"])}
MEMORY = "2G"
FIFTH = 5


@dataclasses.dataclass
class Shape:
    functions: int
    levels: int = 8
    sites: int = 4
    fan_out: int = 0  # as many as places
    seed: int = 5
    walks: int = 1000000
    peers: bool = False  # beside gprof and uftrace

    @property
    def name(self):
        return f"{self.functions}.{self.levels}.{self.sites}.{self.fan_out}.{self.seed}"

    @property
    def title(self):
        words = f"{self.functions:,} functions, {self.levels} levels, {self.sites} places"
        words += f" to call {self.fan_out}" if self.fan_out else ""
        return words + (f", seed {self.seed}" if self.seed != 5 else "")

    def binary(self, context, variant):
        """The program, written and built; the text of the generator is part of what tells it apart."""
        source = context.cache / "src" / f"large.{self.name}.c"
        text = subprocess.run(
            [sys.executable, context.root / "tests/bench/large_program.py", "--functions", str(self.functions),
             "--levels", str(self.levels), "--sites", str(self.sites), "--fan-out", str(self.fan_out),
             "--seed", str(self.seed)], capture_output=True, text=True, check=True).stdout
        output = context.cache / "bin" / f"large.{self.name}.{variant}"
        if not (source.exists() and source.read_text() == text):
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            for old in output.parent.glob(f"large.{self.name}.*"):
                old.unlink()
        if not output.exists():
            print(f"building {output.name}", flush=True)
            output.parent.mkdir(parents=True, exist_ok=True)
            compile_, link = VARIANTS[variant]
            object_ = output.with_name(f"large.{self.name}.{'hooks' if compile_ else 'bare'}.o")
            if not object_.exists():
                builds.run(["gcc", "-O1", *compile_, "-c", source, "-o", object_])
            builds.run(["gcc", *link, object_, "-o", output, "-pthread"])
        return output


SHAPES = [
    Shape(24), Shape(40), Shape(80, peers=True), Shape(80, seed=6),
    Shape(160), Shape(300), Shape(800, peers=True), Shape(800, seed=6), Shape(8000, peers=True),
    Shape(2000, levels=5, sites=12), Shape(600, levels=20, sites=2, walks=400000),
    Shape(800, sites=8, fan_out=2),
]
AT_THE_LIMIT = Shape(8000)


def measure_large(context):
    return {"shapes": [shape(context, one) for one in SHAPES], "limit": limit(context),
            "depth": depth(context), "threads": threads(context), "making": making(context),
            "cppcheck": cppcheck(context)}


def ours(context, cwd, **extra):
    return {"LD_PRELOAD": context.library, "FBLEPROF_OUT": cwd / "mlmon.out", "FBLEPROF_MEMORY": MEMORY,
            **{f"FBLEPROF_{key.upper()}": value for key, value in extra.items()}}


def uftrace(cwd):
    """Records calls of more than a second only: it follows each, and writes none."""
    return ["uftrace", "record", "-t", "1s", "-d", cwd / "uftrace"]


def one_run(context, command, env=None, prefix=None, pinned=True, profile=False):
    """One run in a directory of its own, and what the report knows of the profile that it left."""
    with measure.scratch(context.cache) as cwd:
        # Not for taskset: its profile would take the file's name when a sample hits it.
        variables = [f"{name}={value}" for name, value in (env(cwd) if env else {}).items()]
        run = measure.run([*(PINNED if pinned else []), *(["env", *variables] if variables else []),
                           *(prefix(cwd) if prefix else []), *command], cwd, capture=True)
        file = cwd / "mlmon.out"
        facts = {**our_report.summary(context, file), "bytes": measure.bytes_under(file)} if profile else None
    return run, facts


def calls_of(run):
    return int(run.output.split()[0])


def above(runs, plain):
    """ns per call above the plain run of the same round."""
    return measure.spread((run.cpu - bare.cpu) / calls_of(bare) * 1e9 for run, bare in zip(runs, plain))


def shape(context, which):
    walks = max(1000, round(which.walks * context.scale))
    plain, hooked, gprof, facts = [], [], [], None
    hooked_program = which.binary(context, "fentry")
    for turn in range(context.rounds or 5):
        print(f"  large: {which.title} ({turn + 1})", flush=True)
        plain.append(one_run(context, [which.binary(context, "plain"), walks])[0])
        run, now = one_run(context, [hooked_program, walks], lambda cwd: ours(context, cwd), profile=turn == 0)
        hooked.append(run)
        facts = facts or now
        if which.peers:
            gprof.append(one_run(context, [which.binary(context, "gprof"), walks])[0])
    result = {"title": which.title, "calls": calls_of(plain[0]), "contexts": facts["node_count"],
              "bytes": facts["bytes"], "plain": measure.spread(run.cpu for run in plain),
              "hooked": measure.spread(run.cpu for run in hooked), "above": above(hooked, plain)}
    if which.peers:
        result["gprof"] = above(gprof, plain)
        result["uftrace"] = above(
            [one_run(context, [hooked_program, walks // FIFTH], prefix=uftrace, pinned=False)[0]],
            [one_run(context, [which.binary(context, "plain"), walks // FIFTH], pinned=False)[0]])
    return result


def limit(context):
    """The same run with room for all contexts, and with room for one in twenty of them."""
    walks = round(AT_THE_LIMIT.walks * context.scale)
    return in_pairs(context, AT_THE_LIMIT, walks, {"room": {}, "limit": {"memory": "32M"}})


def depth(context):
    walks = round(AT_THE_LIMIT.walks * context.scale)
    return in_pairs(context, AT_THE_LIMIT, walks, {"whole": {}, "2": {"depth": 2}, "4": {"depth": 4}})


def in_pairs(context, which, walks, settings):
    """Each setting's ns per call above plain, contexts, and its price against the first one's."""
    plain, runs, contexts = [], {name: [] for name in settings}, {}
    for turn in range(context.rounds or 5):
        print(f"  large: {', '.join(settings)} ({turn + 1})", flush=True)
        plain.append(one_run(context, [which.binary(context, "plain"), walks])[0])
        for name, extra in settings.items():
            run, facts = one_run(context, [which.binary(context, "fentry"), walks],
                                 lambda cwd, extra=extra: ours(context, cwd, **extra), profile=turn == 0)
            runs[name].append(run)
            contexts.setdefault(name, facts and facts["node_count"])
    first = next(iter(settings))
    result = {name: {"above": above(runs[name], plain), "contexts": contexts[name]} for name in settings}
    for name in settings:
        result[name]["against_first"] = measure.ratios(
            [run.cpu - bare.cpu for run, bare in zip(runs[name], plain)],
            [run.cpu - bare.cpu for run, bare in zip(runs[first], plain)])
    return result


def threads(context):
    """CPU time a call above plain: both threads do what the one does, each in a tree of its own."""
    result = {}
    for which in (Shape(80), Shape(800)):
        walks = round(which.walks * context.scale / 2)
        taken = {1: [], 2: []}
        for turn in range(context.rounds or 5):
            print(f"  large: threads, {which.title} ({turn + 1})", flush=True)
            for count in taken:
                plain = one_run(context, [which.binary(context, "plain"), walks, count], pinned=False)[0]
                run = one_run(context, [which.binary(context, "fentry"), walks, count],
                              lambda cwd: ours(context, cwd), pinned=False)[0]
                taken[count].append((run.cpu - plain.cpu) / calls_of(plain) * 1e9)
        result[which.title] = {"one": measure.spread(taken[1]), "two": measure.spread(taken[2]),
                               "ratio": measure.ratios(taken[2], taken[1])}
    return result


def making(context):
    """ns per context made: what the first round of the same walks takes longer than the second, which finds
    them all."""
    program = AT_THE_LIMIT.binary(context, "fentry")
    walks = round(100000 * context.scale)
    taken, made = {0: [], 1: [], 2: []}, 0
    for turn in range(context.rounds or 5):
        for rounds, runs in taken.items():
            run, facts = one_run(context, [program, walks, 1, rounds], lambda cwd: ours(context, cwd),
                                 profile=turn == 0 and rounds == 1)
            runs.append(run.cpu)
            if facts:
                made, calls = facts["node_count"], calls_of(run)
    return {"made": made, "calls": calls, "ns": measure.spread(
        (2 * once - start - twice) / made * 1e9 for start, once, twice in zip(*taken.values()))}


CHECKED = "lib/infer.cpp"


def cppcheck(context):
    """Debian's cppcheck, built with gcc's hooks, checks a file of its own source."""
    tree = context.builder.source("cppcheck")
    program = {variant: context.builder.cppcheck(variant) for variant in VARIANTS}
    arguments = ["--enable=all", "-q", f"-I{tree}/lib", f"-I{tree}/externals/simplecpp", tree / CHECKED]
    plain, hooked, gprof, facts = [], [], [], None
    cases = {"plain": (plain, None), "fentry": (hooked, lambda cwd: ours(context, cwd)), "gprof": (gprof, None)}
    for turn in range(context.rounds or 3):
        print(f"  large: cppcheck ({turn + 1})", flush=True)
        for variant, (runs, env) in cases.items():
            run, now = one_run(context, [program[variant], *arguments], env,
                               profile=variant == "fentry" and turn == 0)
            runs.append(run)
            facts = facts or now
    traced = one_run(context, [program["fentry"], *arguments], prefix=uftrace, pinned=False)[0]
    cpu = {"hooked": hooked, "gprof": gprof, "uftrace": [traced]}
    result = {"plain": measure.spread(run.cpu for run in plain), "calls": facts["calls"],
              "contexts": facts["node_count"], "bytes": facts["bytes"]}
    for name, runs in cpu.items():
        result[name] = {
            "ratio": measure.ratios([run.cpu for run in runs], [run.cpu for run in plain]),
            "above": measure.spread((run.cpu - bare.cpu) / facts["calls"] * 1e9
                                    for run, bare in zip(runs, plain))}
    return result


def rows(results):
    """The targets of docs/PERFORMANCE.md that are about large programs."""
    found = results["large"]
    table = []
    for low, high, most in ((50e3, 150e3, 40), (1e6, 3e6, 200), (5e6, 9e6, 350)):
        near = [s for s in found["shapes"] if low <= s["contexts"] <= high]
        if near:
            worst = max(near, key=lambda s: s["above"]["median"])
            table.append(verdicts.Row(
                f"a call above plain, {low:,.0f} to {high:,.0f} contexts", f"≤ {most} ns",
                f"{worst['above']['median']:.0f} ns", worst["above"]["median"] <= most,
                "the worst: " + worst["title"]))
    over = found["limit"]["limit"]["against_first"]["median"]
    table.append(verdicts.Row("past the memory limit, against room for all", "≤ 1.3", f"{over:.2f}", over <= 1.3))
    made = found["making"]["ns"]["median"]
    table.append(verdicts.Row("making a context", "≤ 300 ns", f"{made:.0f} ns", made <= 300,
                              f"{found['making']['made']:,} contexts"))
    price = found["cppcheck"]["hooked"]["ratio"]["median"]
    table.append(verdicts.Row("cppcheck, against plain", "≤ 2.5", f"{price:.2f}", price <= 2.5,
                              f"{found['cppcheck']['contexts']:,} contexts"))
    for name, pair in found["threads"].items():
        table.append(verdicts.Row(f"two threads, a call, against one: {name}", "≤ 1.1",
                                  f"{pair['ratio']['median']:.2f}", pair["ratio"]["median"] <= 1.1))
    return table
