"""What recording allocations costs, beside others that do it."""
import pathlib
import shutil

import measure
import verdicts

ROUNDS = 5


def tools(context):
    """(key, title, variant, environment, command in front) of each way to run the program."""
    wrappers = context.library.with_name("libfbleprof_alloc.so")
    preload = f"{context.library}:{wrappers}"
    yield "time", "fbleprof, hooks, time only", "fentry", {"LD_PRELOAD": context.library}, []
    yield ("exact", "**fbleprof**, hooks, exact", "fentry",
           {"LD_PRELOAD": preload, "FBLEPROF_ALLOCS": "exact"}, [])
    yield ("sample", "**fbleprof**, no hooks, sampled", "plain",
           {"LD_PRELOAD": preload, "FBLEPROF_ALLOCS": "sample"}, [])
    yield ("walked", "**fbleprof**, no hooks, exact", "plain",
           {"LD_PRELOAD": preload, "FBLEPROF_ALLOCS": "exact"}, [])
    if shutil.which("heaptrack"):
        yield "heaptrack", "heaptrack", "plain", {}, ["heaptrack", "-o", "ht"]
    if shutil.which("valgrind"):
        yield ("dhat", "Valgrind's DHAT", "plain", {},
               ["valgrind", "--tool=dhat", "--dhat-out-file=dhat.json"])
    library = next(pathlib.Path("/usr/lib").glob("*/libtcmalloc.so.4"), None)
    if library:
        yield ("gperftools", "gperftools' heap profiler", "plain",
               {"LD_PRELOAD": library, "HEAPPROFILE": "hp"}, [])
    library = next(pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"), None)
    if library:
        yield ("jemalloc", "jemalloc's profiler (512 KiB)", "plain",
               {"LD_PRELOAD": library, "MALLOC_CONF": "prof:true,prof_final:true"}, [])


def measure_memory(context):
    source = pathlib.Path("containers.cc")
    programs = {variant: context.builder.own(source, variant) for variant in ("plain", "fentry")}
    rounds = 1 if context.quick else 2
    result = {}
    for key, title, variant, env, front in tools(context):
        plain, found = [], []
        for _ in range(context.rounds or (2 if key == "dhat" else ROUNDS)):
            with measure.scratch(context.cache) as cwd:
                plain.append(measure.run([programs["plain"], rounds], cwd))
                found.append(measure.run([*front, programs[variant], rounds], cwd,
                                         {**env, "FBLEPROF_OUT": cwd / "mlmon.out"}))
        result[key] = {"title": title,
                       "cpu": measure.ratios([r.cpu for r in found], [r.cpu for r in plain]),
                       "memory": measure.ratios([r.peak_bytes for r in found],
                                                [r.peak_bytes for r in plain])}
    return result


def rows(results):
    return [[entry["title"], verdicts.ratio(entry["cpu"]), verdicts.ratio(entry["memory"])]
            for entry in results["memory"].values()]
