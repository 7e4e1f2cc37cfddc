"""Whether a calibrated price a call mends what hooks do to times: each form of one is fitted to the
top functions of all workloads at once, and then judged by the worst of them.

A form says what a function's own time is, from what its hooked profile has: its time without our own
cost, our own cost that was sampled in it (ns), the calls of it and the calls that it makes.
"""
import accuracy

# name: (function of (self, overhead, calls in, calls out) and parameters, ranges of the parameters)
COSTS = [0.5 * step for step in range(21)]  # ns per call
SHARES = [0.05 * step for step in range(-4, 21)]
FORMS = {
    "none: the time without what was sampled in the hooks":
        (lambda own, ours, calls, made: own, []),
    "a cost per call, off the time with hooks, from the callee":
        (lambda own, ours, calls, made, cost: own + ours - cost * calls, [COSTS]),
    "the same, half from the callee, half from the caller":
        (lambda own, ours, calls, made, cost: own + ours - cost * (calls + made) / 2, [COSTS]),
    "a share of the sampled cost given back":
        (lambda own, ours, calls, made, share: own + share * ours, [SHARES]),
    "a share given back, less a cost per call":
        (lambda own, ours, calls, made, share, cost: own + share * ours - cost * calls,
         [SHARES, COSTS]),
    "a share given back, less a cost per call made":
        (lambda own, ours, calls, made, share, cost: own + share * ours - cost * made,
         [SHARES, COSTS]),
}


def corrected(amounts, form, parameters):
    return {name: max(0.0, form(a["self"], a["overhead"], a["calls"], a["calls_made"], *parameters))
            for name, a in amounts.items()}


def outcome(workload, form, parameters):
    """(errors of the top functions in points, self total against the plain run)"""
    amounts = workload["amounts"]
    times = corrected(amounts, form, parameters)
    total = sum(times.values()) or 1.0
    reference = {name: a["plain_share"] for name, a in amounts.items()}
    top = sorted(reference, key=reference.get, reverse=True)[:accuracy.TOP]
    errors = [100 * times[name] / total - reference[name] for name in top]
    return errors, total / 1e9 / workload["plain_cpu"]


def squares(workloads, form, parameters):
    """What is made small: points off, and percents of the total off."""
    sum_ = 0.0
    for workload in workloads:
        errors, total = outcome(workload, form, parameters)
        sum_ += sum(error * error for error in errors) + (100 * (total - 1)) ** 2 / len(errors)
    return sum_


def choices(ranges):
    return [()] if not ranges else [(first, *rest) for first in ranges[0] for rest in choices(ranges[1:])]


def tried(results):
    """One row per form: its name, its parameters fitted to all workloads, and by workload the worst
    function's error in points and the self total against the plain run."""
    workloads = results["accuracy"]
    rows = []
    for name, (form, ranges) in FORMS.items():
        fitted = min(choices(ranges), key=lambda p: squares(workloads.values(), form, p))
        by_workload = {}
        for workload, entry in workloads.items():
            errors, total = outcome(entry, form, fitted)
            by_workload[workload] = (max(map(abs, errors)), total)
        rows.append((name, fitted, by_workload))
    return rows
