"""docs/PERFORMANCE.md and docs/performance.svg, from what was measured."""
import pathlib
import textwrap

import corrections as corrections_of
import compilers as compilers_of
import exact as exact_of
import large as large_of
import memory as memory_of
import peers as peers_of
import plot
import verdicts
import waits as waits_of
import workloads as workloads_of

TITLES = {peer.name: peer.title for peer in peers_of.PEERS + peers_of.XRAY_PEERS}
SHOWN = ["floor", "hooked", "gprof", "uftrace-cheap", "uftrace", "cyg-floor", "cyg", "cyg-quiet",
         "empty-sampler", "unhooked",
         "gperftools", "perf", "callgrind"]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def read_budget():
    path = pathlib.Path(__file__).with_name("instruction_budget.txt")
    budget = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and not line.startswith("#"):
            name, value = line.rsplit(None, 1)
            budget[name] = float(value)
    return budget


def write(results, directory):
    parts = [heading(results)]
    rows = verdicts.rows(results, read_budget())
    if results.get("exact"):
        rows += exact_of.rows(results)
    if results.get("large"):
        rows += large_of.rows(results)
    if results.get("compilers"):
        rows += compilers_of.rows(results)
    if rows:
        parts.append("## Targets\n\n" + table(
            ["what", "target", "measured", "", "for comparison"],
            [[r.what, r.target, r.measured, "pass" if r.passes else "**miss**", r.remark] for r in rows]))
        parts.append(misses(results, rows))
    for name, section in (("prices", prices), ("xray", xray), ("signals", signals),
                          ("accuracy", accuracy), ("small", small), ("exact", exact), ("large", large),
                          ("compilers", compilers), ("memory", memory), ("waits", waits), ("reports", reports)):
        if results.get(name):
            parts.append(section(results))
    directory.mkdir(exist_ok=True)
    (directory / "PERFORMANCE.md").write_text("\n".join(part for part in parts if part))
    (directory / "performance.svg").write_text(plot.draw(results))
    if results.get("large"):
        (directory / "performance_large.svg").write_text(plot.draw_large(results["large"]))


def heading(results):
    m = results["machine"]
    return textwrap.dedent(f"""\
        # Performance

        Written by `scripts/bench`; the method is in `tests/bench`. One run of {results['seconds'] / 60:.0f} minutes on
        {m['date']}: {m['cores']} cores of {m['cpu']}{' in a virtual machine' if m['virtual'] else ''}, Linux {m['kernel']}, {m['compiler']},
        load {m['load']:.1f} at the start.{' A quick run: do not rely on the figures.' if results['quick'] else ''}
        {'Measured again afterwards: ' + ', '.join(results['again']) + '.' if 'again' in results else ''}

        Times are CPU time, user and system, of the program and the tool. Each round
        runs every tool once. A ratio divides two runs of the same round; tables show the median of the
        ratios and, in parentheses, their range. Workloads are Debian's sources, built with `-O2 -g` and
        hooks.

        ![price, accuracy and growth](performance.svg)
        """)


def misses(results, rows):
    lines = []
    notes = pathlib.Path(__file__).with_name("misses.md")
    known = notes.read_text().strip().split("\n\n") if notes.exists() else []
    for row in rows:
        if not row.passes:
            told = next((k for k in known if k.startswith(f"- {row.what}:")), f"- {row.what}: not explained yet.")
            lines.append(told)
    return "Which targets are missed, and why:\n\n" + "\n".join(lines) + "\n" if lines else ""


def titles():
    return {workload.name: workload.title for workload in workloads_of.WORKLOADS}


def prices(results):
    measured = results["prices"]
    head = ["CPU time against plain", *(titles()[name] for name in measured)]
    rows = [["rounds", *(str(e["plain"]["cpu"]["count"]) for e in measured.values())],
            ["plain, seconds", *(f"{e['plain']['cpu']['median']:.2f}" for e in measured.values())]]
    for peer in SHOWN:
        rows.append([TITLES[peer], *(verdicts.outcome(e[peer]) if peer in e else ""
                                     for e in measured.values())])
    rows.append(["hooked calls, millions", *(f"{e['hooked']['profile']['calls'] / 1e6:.1f}"
                                             for e in measured.values())])
    rows.append(["ns per call above the empty hook", *(
        f"{(e['hooked']['cpu']['median'] - e['floor']['cpu']['median']) / e['hooked']['profile']['calls'] * 1e9:.1f}"
        for e in measured.values())])
    files = [["**fbleprof**, hooked", *(verdicts.size(e["hooked"]["written_bytes"])
                                        for e in measured.values())],
             ["contexts", *(f"{e['hooked']['profile']['node_count']:,}" for e in measured.values())]]
    for peer in ("gprof", "gperftools", "perf", "uftrace-cheap", "uftrace"):
        files.append([TITLES[peer], *(verdicts.size(e[peer]["written_bytes"]) if "written_bytes" in e.get(peer, {}) else ""
                                      for e in measured.values())])
    return ("## Prices\n\n" + table(head, rows) + textwrap.dedent("""
        fbleprof's figures include samples, start-up and the file, also in "ns per call". The empty handler
        samples only the main thread. uftrace and callgrind run a fifth of the work, once, and are compared
        with a plain run of that fifth. For Redis, the time is the server's; its build with
        `-finstrument-functions` is left out.

        Bytes written (uftrace: for a fifth of the work):

        """) + table(["bytes", *(titles()[name] for name in measured)], files))


def xray(results):
    rows = [[titles()[name], f"{e['clang']['cpu']['median']:.2f}", verdicts.outcome(e["xray"])]
            for name, e in results["xray"].items()]
    return ("## LLVM XRay, profiling mode\n\n" + table(
        ["workload", "plain by clang, seconds", "XRay, all functions, against it"], rows))


def signals(results):
    rates = results["signals"]["rates"]
    rows = []
    for rate in ("1000", "10000"):
        rows.append([f"{int(rate):,} Hz", *(verdicts.ratio(rates[f"{kind} {rate}"]["ratio"])
                                            for kind in ("empty", "unhooked", "hooked"))])
    handler = results["signals"]["handler"]
    return ("## The price of a sample\n\nA program that works 30 frames deep, compared with itself unsampled:\n\n" +
            table(["rate", "an empty handler", "**fbleprof**, no hooks", "**fbleprof**, hooked"], rows) +
            f"\nAn empty hook in this program: {rates['floor']['ratio']['median']:.2f}. " + textwrap.dedent(f"""\
        Our handler alone, in a program that sends itself the timer's signal, less an empty handler
        ({handler['empty']['median'] / 1000:.2f} µs with the system call and the kernel's delivery): with hooks {handler['hooked']['median'] / 1000:.2f} µs;
        without hooks, walking the 30 frames, {handler['unhooked']['median'] / 1000:.2f} µs.
        """))


def accuracy(results):
    rows, rates = [], ("250", "1000", "4000")
    for name, a in results["accuracy"].items():
        rows.append([titles()[name], *(f"{a['rates'][r]['worst_points']:.1f} / {a['rates'][r]['mean_points']:.2f}"
                                       for r in rates),
                     f"`{a['rates']['1000']['worst_function']}`",
                     f"{a['times_from_plain']['worst_points']:.1f} / "
                     f"{a['times_from_plain']['mean_points']:.2f}",
                     f"{a['callgrind']['worst_points']:.1f} / {a['callgrind']['mean_points']:.2f}"
                     if "callgrind" in a else "",
                     f"{a['rates']['1000']['self_to_plain']:.3f}",
                     f"{a['times_from_plain']['self_to_plain']:.3f}",
                     f"{a['rates']['1000']['charged_to_rusage']:.4f}",
                     f"{a['rates']['1000']['cpu'] / a['plain_cpu']:.2f}"])
    text = textwrap.dedent("""\
        ## Accuracy

        The table compares shares of self time of the hooked run (`-pg -mfentry`, five times the work of the
        prices), without the profiler's own cost, with perf's samples of the *plain* build: worst and mean
        difference of the top 20 functions, in percentage points. callgrind's shares of instructions are
        compared with perf in the same way, for scale: a program's time is not its instructions. perf itself,
        with its {samples} samples or so, is good to about a point. "From plain" is
        the hooked run shown with `--times-from`, which takes its times from sampled runs of the plain build.
        It agrees with perf, which shows that both sample the same program and that no time is lost between
        the two profiles.

        """).format(samples=min(a["perf_samples"] for a in results["accuracy"].values()))
    text += table(["workload", "250 Hz", "1000 Hz", "4000 Hz", "worst at 1000 Hz", "from plain", "callgrind",
                   "self total / plain run", "the same, from plain", "charged / getrusage", "the hooked run took"], rows)
    text += "\n" + corrections(results)
    worst = max(results["accuracy"], key=lambda n: results["accuracy"][n]["rates"]["1000"]["worst_points"])
    functions = results["accuracy"][worst]["functions"]
    text += f"\nThe worst workload, {titles()[worst]}, in percent:\n\n" + table(
        ["function", "perf, plain", "fbleprof, hooked", "callgrind, plain"],
        [[f"`{f[0]}`", *(f"{value:.1f}" for value in f[1:])] for f in functions[:10]])
    return text


def corrections(results):
    tried = corrections_of.tried(results)
    rows = [[name, ", ".join(f"{value:.2g}" for value in fitted),
             *(f"{points:.1f} / {total:.2f}" for points, total in by_workload.values())]
            for name, fitted, by_workload in tried]
    return textwrap.dedent("""\
        Can a price per call correct the hooks' influence? Each row fits one form of correction to the top
        functions and totals of all workloads at once (`tests/bench/corrections.py`). The cells show the worst
        function in points, and the self total divided by the plain run's.

        """) + table(["own time is", "ns per call, share", *(titles()[name] for name in results["accuracy"])], rows)


def small(results):
    s = results["small"]
    ms = {key: value["median"] * 1000 for key, value in s["start"].items()}
    rows = [
        ["C API enter+leave, library absent", f"{s['api']['absent']['median']:.2f} ns"],
        ["C API enter+leave, library present", f"{s['api']['present']['median']:.2f} ns"],
        *([f"`fbleprof_stop` + `fbleprof_start`: {case}", f"{spread['median']:.0f} µs"]
          for case, spread in s["switch"].items()),
        ["`true`: plain, preloaded, median difference",
         f"{ms['plain']:.2f} ms, {ms['preloaded']:.2f} ms, {ms['difference']:.2f} ms"],
        ["a thread's memory, hooked", verdicts.size(s["memory"]["hooked_bytes"])],
        ["a thread's memory, without hooks", verdicts.size(s["memory"]["unhooked_bytes"])],
        *([f"two threads do twice the work in ... times the wall clock: {name}",
           verdicts.ratio(spread)] for name, spread in s["scaling"].items())]
    return "## Small prices\n\n" + table(["what", "measured"], rows)


def ns(spread):
    return f"{spread['median']:.1f} ({spread['low']:.1f} to {spread['high']:.1f})" if spread else ""


def large(results):
    found = results["large"]
    shapes = sorted(found["shapes"], key=lambda s: s["contexts"])
    rows = [[s["title"], f"{s['contexts']:,}", f"{s['plain']['median'] / s['calls'] * 1e9:.1f}", ns(s["above"]),
             ns(s.get("gprof")), ns(s.get("uftrace")), f"{s['bytes'] / s['contexts']:.0f}"] for s in shapes]
    text = textwrap.dedent("""\
        ## Large programs

        `tests/bench/large_program.py` writes programs whose functions call each other at random, level by
        level: there are nearly as many contexts as ways through them. Each makes some 20 million calls. This
        is worse than real programs, whose calls take the same ways again. ns per call above plain, medians of
        pairs and their range; gprof runs on the objects that we run on, uftrace (`-t 1s`, its cheapest) a
        fifth of the work, once.

        ![ns per call against contexts](performance_large.svg)

        """) + table(["program", "contexts", "plain, ns per call", "**fbleprof**, above it", "gprof", "uftrace",
                      "bytes per context"], rows)
    room, over = (found["limit"][name] for name in ("room", "limit"))
    made = found["making"]
    rows = [
        ["room for all contexts, 8,000 functions", f"{room['contexts']:,}", ns(room["above"])],
        ["`FBLEPROF_MEMORY=32M`", f"{over['contexts']:,}", ns(over["above"]) +
         f", {over['against_first']['median']:.2f} times as much"],
        *([f"`--depth {name}`", f"{entry['contexts']:,}", ns(entry["above"]) +
           f", {entry['against_first']['median']:.2f} times as much as without"]
          for name, entry in found["depth"].items() if name != "whole"),
        [f"a context made ({made['made'] / made['calls']:.0%} of the calls make one)", f"{made['made']:,}",
         ns(made["ns"]) + " a context"],
        *([f"{which} thread{'s' if which == 'two' else ''}, {name}", "", ns(pair[which])]
          for name, pair in found["threads"].items() for which in ("one", "two"))]
    text += "\n" + table(["what", "contexts", "ns per call above plain"], rows)
    checked = found["cppcheck"]
    return text + textwrap.dedent(f"""
        Below a context at the limit of depth, pairs of caller and callee are still counted. If these pairs are
        most of the tree, a limit makes the tree larger and more expensive: here only a limit of 2 helps.

        cppcheck, Debian's, built with `-O2 -pg -mfentry`, checks `{large_of.CHECKED}` of its own source:
        {checked['calls'] / 1e6:.0f} million calls in {checked['contexts']:,} contexts, plain {checked['plain']['median']:.2f} s.

        """) + table(["tool", "CPU time against plain", "ns per call above plain"],
                     [[title, verdicts.ratio(checked[name]["ratio"]), ns(checked[name]["above"])]
                      for name, title in (("hooked", "**fbleprof**"), ("gprof", "gprof"),
                                          ("uftrace", "uftrace, cheapest"))]) + "\n"


def exact(results):
    return (textwrap.dedent("""\
        ## Every call of unmodified programs

        Debian's own binaries, unmodified, with `--exact`: the program and its libraries but libc (python3: the
        program). callgrind and `uftrace record -P .` run a tenth of the work, once; uftrace sees only functions
        that a stripped program exports. "Counted" is the share of the calls that callgrind saw in the program (sqlite3:
        in its library) that we counted, too; "equal" are the functions with callgrind's count. (callgrind runs copies
        with symbols; that of python3 finds its modules elsewhere, and Lua seeds its hashes by addresses.)

        """) + table(["program", "plain, s", "CPU time against plain", "callgrind", "uftrace", "million calls",
                      "contexts", "counted, %", "equal"], exact_of.table_rows(results)) +
            "\nA plan is made once for each file of code. The start is that of a program that does nothing.\n\n" +
            table(["program", "code", "CPU time for its plan", "start with kept plans, above plain"],
                  exact_of.plan_rows(results)))


def compilers(results):
    rows = [[one["title"], f"{one['calls'] / 1e6:,.0f}", f"{one['contexts']:,}", f"{one['plain']['median']:.2f}",
             verdicts.ratio(one["ratio"]), ns(one["above"])] for one in results["compilers"]]
    return textwrap.dedent("""\
        ## Compilers, every call counted

        gcc's `cc1` and clang as Debian ships them have no hooks: `--exact` rewrites the starts of their
        functions, and of their libraries' (clang's are in libLLVM). They compile preprocessed files, and
        write the same code as without.

        """) + table(["program", "million calls", "contexts", "plain, s", "CPU time against plain",
                      "ns per call above plain"], rows)


def memory(results):
    return ("## Allocations\n\nA map of strings and vectors of small blocks, 1.7 million allocations a "
            "round, against the plain build.\n\n" +
            table(["tool", "CPU time", "memory"], memory_of.rows(results)))


def waits(results):
    text = ("## Waits\n\nThe CPU time of one call that may block, the least of 75 rounds.\n\n" +
            table(["call", "plain", "recorder", "with waits"], waits_of.call_rows(results)))
    if results["waits"]["redis"]:
        text += ("\nRequests a second of Debian's Redis, 16 in a pipeline, against a plain server that was asked "
                 "just before.\n\n" + table(["tool", "GET", "SET"], waits_of.redis_rows(results)))
    return text


def reports(results):
    r = results["reports"]
    steps = [[name, f"{v['median']:,.1f} ms"] for name, v in r["steps"].items()
             if name not in ("nodes", "peak")]
    rows = [[f"fble-prof-report {name}", f"{v['seconds']:.2f} s", verdicts.size(v["peak_bytes"])]
            for name, v in r["commands"].items() if "seconds" in v]
    rows += [[f"go tool pprof {name}, on our export", f"{v['seconds']:.2f} s", verdicts.size(v["peak_bytes"])]
             for name, v in r["pprof"].items()]
    return ("## Reports\n\n" + f"A profile of {r['steps']['nodes']['median']:,.0f} contexts of 1000 functions "
            f"({verdicts.size(r['profile_bytes'])}; as pprof {verdicts.size(r['commands']['p.pb.gz']['bytes'])}, "
            f"as speedscope {verdicts.size(r['commands']['s.json']['bytes'])}).\n\n" +
            table(["step, with the profile kept in memory", "time"], steps) + "\n" +
            table(["whole command", "wall clock", "peak memory"], rows) + "\n" +
            pathlib.Path(__file__).with_name("large_debug_info.md").read_text())
