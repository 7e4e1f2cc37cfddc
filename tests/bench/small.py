"""The small prices: the C API, recording turned off and on, a start, a thread's memory, a second thread."""
import pathlib
import time
import os

import measure
import workloads


def measure_small(context):
    return {"api": api(context), "switch": switch(context), "start": start(context),
            "memory": memory(context), "scaling": scaling(context)}


def api(context):
    """ns for fbleprof_enter and fbleprof_leave together."""
    program = context.builder.own(pathlib.Path("api_price.c"), libraries=["-ldl"])
    result = {}
    for name, env in (("absent", {}), ("present", {"LD_PRELOAD": context.library})):
        values = []
        for _ in range(context.rounds or 5):
            with measure.scratch(context.cache) as cwd:
                run = measure.run([program, 20000000], cwd, {**env, "FBLEPROF_OUT": cwd / "mlmon.out"},
                                  capture=True)
                values.append(float(run.output))
        result[name] = measure.spread(values)
    return result


def switch(context):
    """us for fbleprof_stop and fbleprof_start together, by the hooks and the number of threads."""
    result = {}
    for variant in ("plain", "fentry"):
        program = context.builder.own(pathlib.Path("switch_price.c"), variant, libraries=["-pthread", "-ldl"])
        for threads in (1, 64):
            values = []
            for _ in range(context.rounds or 5):
                with measure.scratch(context.cache) as cwd:
                    run = measure.run([program, threads], cwd, {"LD_PRELOAD": context.library,
                                                                "FBLEPROF_OUT": cwd / "mlmon.out"}, capture=True)
                    values.append(float(run.output))
            result[f"{variant}, threads: {threads}"] = measure.spread(values)
    return result


def start(context):
    """Wall-clock seconds of `true`, plain and preloaded in turn, and the median difference."""
    plain, preloaded = [], []
    with measure.scratch(context.cache) as cwd:
        bare = measure.environment({})
        ours = measure.environment({"LD_PRELOAD": context.library, "FBLEPROF_OUT": cwd / "mlmon.out"})
        for _ in range(60 if context.quick else 300):
            for env, into in ((bare, plain), (ours, preloaded)):
                begin = time.monotonic()
                pid = os.posix_spawn("/bin/true", ["true"], env)
                os.waitpid(pid, 0)
                into.append(time.monotonic() - begin)
    return {"plain": measure.spread(plain), "preloaded": measure.spread(preloaded),
            "difference": measure.spread(b - a for a, b in zip(plain, preloaded))}


def memory(context):
    """Resident bytes per thread: the difference between many threads and few, less the plain one's."""
    few, many = 4, 68
    result = {}
    for name, variant, env in (("plain", "plain", {}),
                               ("hooked", "fentry", {"LD_PRELOAD": context.library}),
                               ("unhooked", "plain", {"LD_PRELOAD": context.library})):
        program = context.builder.own(pathlib.Path("thread_memory.c"), variant, libraries=["-pthread"])
        resident = []
        for threads in (few, many):
            with measure.scratch(context.cache) as cwd:
                run = measure.run([program, threads], cwd, {**env, "FBLEPROF_OUT": cwd / "mlmon.out"},
                                  capture=True)
                resident.append(int(run.output))
        result[name] = (resident[1] - resident[0]) / (many - few)
    return {"hooked_bytes": result["hooked"] - result["plain"],
            "unhooked_bytes": result["unhooked"] - result["plain"]}


def scaling(context):
    """How much longer twice the work takes on two threads: wall clock, plain and hooked."""
    fib = next(w for w in workloads.WORKLOADS if w.name == "fib")
    number = workloads.fib_of(context, fib.size * context.scale)[0]
    cases = {"plain": ("plain", {}), "floor": ("fentry", {"LD_PRELOAD": context.empty_hooks}),
             "hooked": ("fentry", {"LD_PRELOAD": context.library})}
    stretch = {name: [] for name in cases}
    for _ in range(context.rounds or 5):
        for name, (variant, env) in cases.items():
            wall = []
            for threads in (1, 2):
                with measure.scratch(context.cache) as cwd:
                    run = measure.run([fib.binary(context, variant), number, threads], cwd,
                                      {**env, "FBLEPROF_OUT": cwd / "mlmon.out"})
                    wall.append(run.wall)
            stretch[name].append(wall[1] / wall[0])
    return {name: measure.spread(values) for name, values in stretch.items()}
