"""The targets, what was measured, and whether it passes."""
import dataclasses
import math



@dataclasses.dataclass
class Row:
    what: str
    target: str
    measured: str
    passes: bool
    remark: str = ""


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio(spread):
    return f"{spread['median']:.2f} ({spread['low']:.2f} to {spread['high']:.2f})"


def outcome(entry):
    """The price against plain, or how the tool ended."""
    return f"died ({entry['died']})" if "died" in entry else ratio(entry["ratio"])


def lua(prices):
    return {name: entry for name, entry in prices.items() if name.startswith("lua")}


def per_lua(prices, value):
    """The three Lua programs' figures: worst first in judgement, all shown."""
    values = {}
    for name, entry in lua(prices).items():
        try:
            values[name.removeprefix("lua-")] = value(entry)
        except KeyError:  # a peer died on it
            continue
    shown = ", ".join(f"{name} {v:.2f}" for name, v in values.items())
    return max(values.values(), default=math.inf), shown


def rows(results, budget):
    table = []

    def add(what, target, measured, passes, remark=""):
        table.append(Row(what, target, measured, bool(passes), remark))

    def at_most(what, limit, value, shown, unit="", remark=""):
        add(what, f"≤ {limit}{unit}", shown, value <= limit, remark)

    prices = results.get("prices", {})
    if lua(prices):
        value, shown = per_lua(prices, lambda e: e["hooked"]["ratio"]["median"])
        at_most("`-pg -mfentry` Lua, against plain", 1.9, value, shown,
                remark="the empty hook alone: " +
                per_lua(prices, lambda e: e["floor"]["ratio"]["median"])[1])
        value, shown = per_lua(prices, lambda e: e["hooked"]["against_gprof"]["median"])
        at_most("the same, against gprof on its own build", 0.70, value, shown)
        # uftrace runs once, on a part of the work: its time is scaled, not divided by a plain run.
        value, shown = per_lua(prices, lambda e: e["hooked"]["cpu"]["median"] * e["uftrace-cheap"]["share"] /
                               e["uftrace-cheap"]["cpu"]["median"])
        at_most("the same, against uftrace's cheapest setting", 0.10, value, shown)
        value, shown = per_lua(prices, lambda e: e["cyg"]["against_cyg-floor"]["median"])
        at_most("`-finstrument-functions` Lua, against empty hooks", 1.20, value, shown,
                remark="the hooks alone, sampled once a second: " +
                per_lua(prices, lambda e: e["cyg-quiet"]["against_cyg-floor"]["median"])[1])
    if "fib" in prices:
        fib = prices["fib"]
        calls = fib["hooked"]["profile"]["calls"]
        value = (fib["hooked"]["cpu"]["median"] - fib["floor"]["cpu"]["median"]) / calls * 1e9
        instructions = budget.get("__fentry__")
        shown = f"{value:.2f} ns" + (f"; {instructions:.1f} instructions" if instructions else "")
        add("one hooked call, worst case (fib), above the empty hook", "≤ 3 ns or ≤ 32 instructions",
            shown, value <= 3 or (instructions or 99) <= 32)
    small = results.get("small")
    if small:
        absent, present = small["api"]["absent"]["median"], small["api"]["present"]["median"]
        at_most("C API enter+leave, library absent", 1, absent, f"{absent:.2f} ns", " ns")
        at_most("C API enter+leave, library present", 5, present, f"{present:.2f} ns", " ns")
    if lua(prices):
        entries = lua(prices).values()
        ours = max(e["hooked"]["written_bytes"] for e in entries)
        theirs = max((e["uftrace"]["written_bytes"] / e["uftrace"]["share"] for e in entries
                      if "share" in e["uftrace"]), default=0)
        add("file written (Lua, the largest)", "kilobytes for gigabytes",
            f"{size(ours)}; uftrace {size(theirs)}", ours < 4e6)
    if prices:
        medians = {name: e["unhooked"]["ratio"]["median"] for name, e in prices.items()
                   if "unhooked" in e}
        worst = max(medians, key=medians.get)
        at_most("no hooks, 1000 Hz, against plain (all workloads)", 1.02,
                geometric_mean(medians.values()),
                f"{geometric_mean(medians.values()):.3f} mean; worst {worst} {medians[worst]:.2f}",
                remark="an empty handler at that rate: " + "{:.3f} mean".format(geometric_mean(
                    e["empty-sampler"]["ratio"]["median"] for e in prices.values()
                    if "unhooked" in e)))
    signals = results.get("signals")
    if signals:
        rates = signals["rates"]
        value = rates["unhooked 1000"]["ratio"]["median"]
        at_most("no hooks, 1000 Hz, 30 frames deep", 1.02, value, f"{value:.3f}",
                remark=f"an empty handler at that rate: {rates['empty 1000']['ratio']['median']:.3f}")
        value = rates["unhooked 10000"]["ratio"]["median"]
        at_most("no hooks, 10,000 Hz, 30 frames deep", 1.15, value, f"{value:.2f}",
                remark=f"an empty handler at that rate: {rates['empty 10000']['ratio']['median']:.2f}; "
                       f"ours against it: {rates['unhooked 10000']['against_empty']['median']:.2f}")
        hooked, unwound = (signals["handler"][k]["median"] / 1000 for k in ("hooked", "unhooked"))
        at_most("one sample with hooks, our handler", 1, hooked, f"{hooked:.2f} µs", " µs")
        at_most("one sample unwound at 30 frames, our handler", 3, unwound, f"{unwound:.2f} µs", " µs")
    if small:
        plain, ours = (small["scaling"][k]["median"] for k in ("plain", "hooked"))
        add("two threads, hooked (fib): twice the work, times the wall clock", "as plain",
            f"{ours:.2f}; plain {plain:.2f}", ours <= plain * 1.05)
        thread = small["memory"]["hooked_bytes"]
        add("memory", "≤ 64 bytes per node, ≤ 32 an edge, ≤ 1 MB per thread",
            f"64, 32, {size(thread)} a thread", thread <= 1e6,
            f"without hooks {size(small['memory']['unhooked_bytes'])}")
    accuracy = results.get("accuracy")
    if accuracy:
        late = {name: growth(a["growth"], 0.5, 1.0) for name, a in accuracy.items()}
        worst = max(late, key=late.get)
        add("tree growth in the second half of the run", "flat",
            f"≤ {late[worst]:.1f} % ({worst})", late[worst] <= 1.0,
            "until its last 5 %, when programs clean up: " + ", ".join(
                f"{name} {growth(a['growth'], 0.5, 0.95):.1f}" for name, a in accuracy.items()))
    if "reports" in results:
        steps = {k: v["median"] for k, v in results["reports"]["steps"].items()}
        load = steps["read"] + steps["symbolize"] + steps["merge"]
        view = steps["filter"] + steps["filtered-table"]
        add("report, a million nodes", "load ≤ 1 s, ≤ 200 MB, a filtered view ≤ 100 ms",
            f"{load / 1000:.2f} s, {size(steps['peak'])}, {view:.0f} ms",
            load <= 1000 and steps["peak"] <= 200e6 and view <= 100, f"{steps['nodes']:,.0f} nodes")
    if small:
        value = small["start"]["difference"]["median"] * 1000
        at_most("start-up of a preloaded `true`, above plain", 1, value, f"{value:.2f} ms", " ms")
    if accuracy:
        base = {name: a["rates"]["1000"] for name, a in accuracy.items()}
        taken = {name: a["times_from_plain"] for name, a in accuracy.items()}
        for runs, whose in ((base, ""), (taken, ", `--times-from` the plain run")):
            worst = max(runs, key=lambda n: runs[n]["worst_points"])
            at_most(f"top 20 functions, off from perf on the plain build{whose}", 3,
                    runs[worst]["worst_points"],
                    f"worst {runs[worst]['worst_points']:.1f} points ({worst}: "
                    f"`{runs[worst]['worst_function']}`)", " points",
                    ", ".join(f"{n} {a['worst_points']:.1f}" for n, a in runs.items()))
            off = {n: abs(a["self_to_plain"] - 1) * 100 for n, a in runs.items()}
            worst = max(off, key=off.get)
            at_most(f"self total, off from the plain run's time{whose}", 5, off[worst],
                    f"worst {off[worst]:.1f} % ({worst})", " %",
                    ", ".join(f"{n} {a['self_to_plain']:.2f}" for n, a in runs.items()))
        off = {n: abs(a["charged_to_rusage"] - 1) * 100 for n, a in base.items()}
        worst = max(off, key=off.get)
        at_most("charged total, off from getrusage", 1, off[worst], f"worst {off[worst]:.2f} % ({worst})",
                " %")
    return table


def growth(curve, begin, end):
    """Percent of the nodes there are at one share of the run's time that came since another."""
    def nodes_at(share):
        return max((nodes for seconds, nodes in curve if seconds <= curve[-1][0] * share), default=0)
    return 100.0 * (nodes_at(end) - nodes_at(begin)) / max(nodes_at(end), 1)


def size(bytes_):
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if bytes_ >= factor:
            return f"{bytes_ / factor:.3g} {unit}"
    return f"{bytes_:.0f} bytes"
