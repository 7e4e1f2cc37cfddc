"""What samples cost: at rates, beside an empty handler at the same rate; and our handler alone."""
import pathlib

import measure


def measure_signals(context):
    plain = context.builder.own(pathlib.Path("deep.c"), "plain")
    hooked = context.builder.own(pathlib.Path("deep.c"), "fentry")
    return {"rates": rates(context, plain, hooked), "handler": handler(context, plain, hooked)}


def rates(context, plain, hooked):
    """A program 30 frames deep, sampled at rates: CPU seconds against the program without."""
    work = round(600000 * context.scale)
    cases = {"plain": (plain, {})}
    for rate in (1000, 10000):
        cases[f"empty {rate}"] = (plain, {"LD_PRELOAD": context.empty_sampler,
                                          "EMPTY_SAMPLER_RATE": rate})
        cases[f"unhooked {rate}"] = (plain, {"LD_PRELOAD": context.library, "FBLEPROF_RATE": rate})
    cases["floor"] = (hooked, {"LD_PRELOAD": context.empty_hooks})
    for rate in (1000, 10000):
        cases[f"hooked {rate}"] = (hooked, {"LD_PRELOAD": context.library, "FBLEPROF_RATE": rate})
    cpu = {name: [] for name in cases}
    for turn in range(context.rounds or 7):
        print(f"  deep: all rates (round {turn + 1})", flush=True)
        for name, (program, env) in cases.items():
            with measure.scratch(context.cache) as cwd:
                cpu[name].append(measure.run([program, work], cwd,
                                             {**env, "FBLEPROF_OUT": cwd / "mlmon.out"}).cpu)
    result = {name: {"cpu": measure.spread(values), "ratio": measure.ratios(values, cpu["plain"])}
              for name, values in cpu.items()}
    for rate in (1000, 10000):
        result[f"unhooked {rate}"]["against_empty"] = measure.ratios(cpu[f"unhooked {rate}"],
                                                                     cpu[f"empty {rate}"])
    return result


def handler(context, plain, hooked):
    """ns a signal, from a program that sends itself signals that look like the timer's."""
    count = round(200000 * context.scale)
    env = {"FBLEPROF_RATE": 1, "LD_PRELOAD": context.library}
    cases = {"empty": (plain, {}), "unhooked": (plain, env), "hooked": (hooked, env)}
    taken = {name: [] for name in cases}
    for _ in range(context.rounds or 7):
        for name, (program, extra) in cases.items():
            with measure.scratch(context.cache) as cwd:
                run = measure.run([program, count, "signals"], cwd,
                                  {**extra, "FBLEPROF_OUT": cwd / "mlmon.out"}, capture=True)
                taken[name].append(float(run.output))
    return {"empty": measure.spread(taken["empty"]),
            "unhooked": measure.spread(a - b for a, b in zip(taken["unhooked"], taken["empty"])),
            "hooked": measure.spread(a - b for a, b in zip(taken["hooked"], taken["empty"]))}
