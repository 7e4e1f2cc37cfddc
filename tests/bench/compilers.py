"""What counting every call costs compilers as Debian ships them, without hooks (--exact): gcc's cc1 and
clang, on preprocessed files of Debian's sources. Their output must be the same."""
import dataclasses
import subprocess

import builds
import large
import measure
import our_report
import verdicts


@dataclasses.dataclass
class Case:
    title: str
    recipe: builds.Recipe
    source: str
    level: str
    by_clang: bool = False


CASES = [Case("cc1 -O2, Lua's lvm.c", builds.LUA, "src/lvm.c", "-O2"),
         Case("cc1 -O2, Lua's lstrlib.c", builds.LUA, "src/lstrlib.c", "-O2"),
         Case("cc1 -O0, SQLite in one file", builds.SQLITE, "sqlite3.c", "-O0"),
         Case("clang -O0, SQLite in one file", builds.SQLITE, "sqlite3.c", "-O0", by_clang=True)]


def measure_compilers(context):
    return [measured(context, case) for case in CASES]


def command_of(context, case):
    tree = context.builder.prepared(case.recipe)
    driver = "clang-14" if case.by_clang else "gcc"
    text = context.cache / "src" / f"{case.source.replace('/', '_')}.{driver}.i"
    if not text.exists():
        builds.run([driver, "-O2", "-E", tree / case.source, "-o", text])
    if case.by_clang:
        return [driver, "-w", "-S", case.level, "-x", "cpp-output", text, "-o", "out.s"]
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
    return [cc1, "-quiet", "-w", "-fpreprocessed", case.level, text, "-o", "out.s"]


def one_run(context, command, exact):
    """The run, the code it wrote, and what the report knows of its profile."""
    with measure.scratch(context.cache) as cwd:
        profile = cwd / "mlmon.out"
        launch = [context.library.parent / "fble-prof", "--exact", "--memory", large.MEMORY, "--out", profile]
        run = measure.run([*large.PINNED, *(launch if exact else []), *command], cwd)
        return run, (cwd / "out.s").read_bytes(), our_report.summary(context, profile) if exact else None


def measured(context, case):
    command = command_of(context, case)
    one_run(context, command, True)  # plans how to change the files of code, and keeps the plans
    plain, exact, facts = [], [], None
    for turn in range(context.rounds or 3):
        print(f"  compilers: {case.title} ({turn + 1})", flush=True)
        bare, expected, _ = one_run(context, command, False)
        run, code, facts = one_run(context, command, True)
        if code != expected:
            raise SystemExit(f"scripts/bench: {case.title}: --exact changes what the compiler writes")
        plain.append(bare.cpu)
        exact.append(run.cpu)
    return {"title": case.title, "calls": facts["calls"], "contexts": facts["node_count"],
            "plain": measure.spread(plain), "ratio": measure.ratios(exact, plain),
            "above": measure.spread((a - b) / facts["calls"] * 1e9 for a, b in zip(exact, plain))}


def rows(results):
    """Their targets."""
    return [verdicts.Row(f"{one['title']}, every call counted, against plain", "≤ 2.5",
                         f"{one['ratio']['median']:.2f}", one["ratio"]["median"] <= 2.5,
                         f"{one['contexts']:,} contexts") for one in results["compilers"]]
