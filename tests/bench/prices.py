"""What each way of profiling costs on each workload: pairs of runs, one peer after the other in every
round, so that what else the machine does meets all of them."""
import collections

import measure
import peers as peers_of
import our_report


def measure_prices(context, workloads):
    return {workload.name: of_workload(context, workload, peers_of.PEERS) for workload in workloads}


def measure_xray(context, workloads):
    return {workload.name: of_workload(context, workload, peers_of.XRAY_PEERS)
            for workload in workloads if workload.name.startswith("lua")}


def of_workload(context, workload, peers):
    # A peer that runs only a part of a workload is divided by the plain run of the same part.
    peers = [peer for peer in peers if peer.variant in workload.variants + ("clang", "xray")]
    runs = collections.defaultdict(list)
    facts, died = {}, {}
    rounds = context.rounds or workload.rounds
    # The first round warms caches and is not counted.
    plain = next(peer for peer in peers if peer.against in ("plain", "clang"))
    with measure.scratch(context.cache) as cwd:
        plain.run(workload, context, cwd)
    for turn in range(rounds):
        for peer in peers:
            if peer.once and turn > 0:
                continue
            with measure.scratch(context.cache) as cwd:
                print(f"  {workload.name}: {peer.name} ({turn + 1}/{rounds})", flush=True)
                run = peer.run(workload, context, cwd, may_fail=peer.is_foreign)
                if run.status != 0:
                    print(f"  {workload.name}: {peer.name}: it died, status {run.status}", flush=True)
                    died[peer.name] = run.status
                runs[peer.name].append(run)
                facts[peer.name] = facts_of(context, peer, cwd)
                keep(context, workload, peer, cwd)
    cpu = {name: [run.cpu for run in list_] for name, list_ in runs.items()}
    result = {}
    for peer in peers:
        if peer.name in died:
            result[peer.name] = {"died": died[peer.name]}
            continue
        entry = {"cpu": measure.spread(cpu[peer.name]),
                 "ratio": measure.ratios(cpu[peer.name], cpu[peer.against]),
                 "wall": measure.spread(run.wall for run in runs[peer.name]),
                 "peak_bytes": max(run.peak_bytes for run in runs[peer.name]), "share": peer.share,
                 **facts[peer.name]}
        result[peer.name] = entry
    cpu = {name: values for name, values in cpu.items() if name not in died}
    for one, other in (("hooked", "floor"), ("hooked", "gprof"), ("cyg", "cyg-floor"),
                       ("cyg-quiet", "cyg-floor")):
        if one in cpu and other in cpu:
            result[one][f"against_{other}"] = measure.ratios(cpu[one], cpu[other])
    return result


def facts_of(context, peer, cwd):
    """The size of what was written, and what our own profile says."""
    facts = {"written_bytes": sum(measure.bytes_under(path) for path in cwd.iterdir())}
    profile = cwd / "mlmon.out"
    if profile.exists():
        facts["profile"] = our_report.summary(context, profile)
    return facts


def keep(context, workload, peer, cwd):
    """callgrind's counts are used again, as a reference of accuracy."""
    counts = cwd / "callgrind.out"
    if counts.exists():
        counts.replace(context.cache / f"callgrind.{workload.name}")
