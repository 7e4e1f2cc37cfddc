"""What reports cost on a profile of a million nodes: ours, and pprof on the same profile, exported."""
import pathlib

import builds
import measure

WALKS = 90000  # of maze: about a million contexts


def measure_reports(context):
    maze = context.builder.own(pathlib.Path("maze.cc"), "fentry", flags=["-ftemplate-depth=2000"])
    with measure.scratch(context.cache) as cwd:
        profile = cwd / "mlmon.out"
        measure.run([maze, round(WALKS * context.scale)], cwd,
                    {"LD_PRELOAD": context.library, "FBLEPROF_OUT": profile})
        return {"profile_bytes": measure.bytes_under(profile), "steps": steps(context, cwd, profile),
                "commands": commands(context, cwd, profile), "pprof": pprof(context, cwd, profile)}


def steps(context, cwd, profile):
    """ms of each step of a report that keeps the profile in memory."""
    program = report_price(context)
    taken = {}
    for _ in range(context.rounds or 5):
        run = measure.run([program, profile, "*room<500>*"], cwd, capture=True)
        for line in run.output.splitlines():
            name, value = line.split()
            taken.setdefault(name, []).append(float(value))
    return {name: measure.spread(values) for name, values in taken.items()}


def report_price(context):
    libraries = [context.root / f"build/release/libprof/{room}/libfbleprof_{room}.a"
                 for room in ("analysis", "transform", "symbolize", "profile")]
    output = context.cache / "bin/report_price"
    source = context.root / "tests/bench/programs/report_price.cc"
    newest = max(path.stat().st_mtime for path in (*libraries, source))
    if not output.exists() or output.stat().st_mtime < newest:
        builds.run(["g++", "-std=c++20", "-O2", f"-I{context.root}/libprof", source, *libraries, "-o",
                    output, "-lfmt", "-lre2", "-ldw", "-lelf", "-lz", "-liberty"])
    return output


def commands(context, cwd, profile):
    """Wall seconds and peak bytes of whole commands, start to end."""
    result = {}
    for name, arguments in (("--summary", ["--summary"]), ("the tree", []), ("--self", ["--self"]),
                            ("--self --select", ["--self", "--select", "*room<500>*"]),
                            ("--export pprof", ["--export", "pprof", "-o", cwd / "p.pb.gz"]),
                            ("--export speedscope", ["--export", "speedscope", "-o", cwd / "s.json"])):
        run = measure.run([context.report, *arguments, profile], cwd)
        result[name] = {"seconds": run.wall, "peak_bytes": run.peak_bytes}
    for name in ("p.pb.gz", "s.json"):
        result[name] = {"bytes": measure.bytes_under(cwd / name)}
    return result


def pprof(context, cwd, profile):
    result = {}
    for name, arguments in (("-top", ["-top"]),):
        run = measure.run(["go", "tool", "pprof", "-sample_index=calls", *arguments, cwd / "p.pb.gz"],
                          cwd, {"HOME": cwd, "PPROF_TMPDIR": cwd, "GOFLAGS": "-mod=mod"}, may_fail=True)
        result[name] = {"seconds": run.wall, "peak_bytes": run.peak_bytes}
    return result
