"""What recording waits costs: single calls, and Redis with pipelined requests, beside others that record waits."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import measure
import verdicts

ROUNDS = 5
CALLS = {"mutex": "a free mutex, locked and unlocked", "poll": "`poll` of nothing", "close": "`close` of -1",
         "getc": "`getc`", "sleep": "a `nanosleep` that is charged, 20 frames deep"}


def recorders(context):
    """(key, title, environment) of the ways to run under fbleprof."""
    wrappers = context.library.with_name("libfbleprof_wait.so")
    yield "plain", "plain", {}
    yield "recorder", "recorder", {"LD_PRELOAD": context.library}
    yield "waits", "with waits", {"LD_PRELOAD": f"{wrappers}:{context.library}", "FBLEPROF_WAITS": "1"}


def peers():
    """(key, title, command in front of the server) of others, where they run."""
    if shutil.which("perf"):
        yield "perf-trace", "perf trace -s", ["perf", "trace", "-s", "-o", "perf.txt", "--"]
        yield ("perf-sched", "perf record of switches, with stacks", ["perf", "record", "-q", "-e",
               "context-switches", "-c", "1", "-g", "-o", "perf.data", "--"])
    if shutil.which("strace"):
        yield "strace", "strace -c -w -f", ["strace", "-c", "-w", "-f", "-o", "strace.txt"]
    if shutil.which("uftrace"):
        yield "uftrace", "uftrace, calls of libraries", ["uftrace", "record", "--force", "-d", "uftrace.data"]


def call_prices(context):
    program = context.builder.own(pathlib.Path("wait_price.c"), libraries=["-pthread"])
    prices = {name: {} for name in CALLS}
    for _ in range(context.rounds or ROUNDS):
        for key, _, env in recorders(context):
            with measure.scratch(context.cache) as cwd:
                run = measure.run([program], cwd, {**env, "FBLEPROF_OUT": cwd / "mlmon.out"}, capture=True)
            for line in run.output.splitlines():
                name, ns = line.split()
                prices[name][key] = min(prices[name].get(key, float("inf")), float(ns))
    return prices


def stop(server):
    """Ends the server, which may be a child of the tool in front of it."""
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def throughput(context, env, front):
    """Requests a second of GET and SET with 16 in a pipeline. None: the server did not run, or was not done in time."""
    port = free_port()
    requests, longest = (50000, 15) if context.quick else (400000, 60)
    with measure.scratch(context.cache) as cwd:
        server = subprocess.Popen(
            [*front, "redis-server", "--port", port, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"],
            cwd=cwd, env=measure.environment({**env, "FBLEPROF_OUT": cwd / "mlmon.out"}),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            end = time.monotonic() + 10
            while not answers(port):
                if server.poll() is not None or time.monotonic() > end:
                    return None
                time.sleep(0.05)
            client = subprocess.run(["redis-benchmark", "-p", port, "-q", "-n", str(requests), "-P", "16",
                                     "-t", "get,set"], capture_output=True, text=True, check=False, timeout=longest)
            subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                stop(server)
    found = dict(re.findall(r"(GET|SET): ([\d.]+) requests per second", client.stdout.replace("\r", "\n")))
    return {name: float(value) for name, value in found.items()} or None


def redis(context):
    """Each round asks a plain server, then each other; ratios are of one round."""
    ways = [(key, title, env, []) for key, title, env in recorders(context) if key != "plain"]
    ways += [(key, title, {}, front) for key, title, front in peers()]
    found = {}
    for _ in range(context.rounds or ROUNDS):
        for key, title, env, front in ways:
            plain, ours = throughput(context, {}, []), throughput(context, env, front)
            entry = found.setdefault(key, {"title": title, "GET": [], "SET": []})
            if plain is None or ours is None:
                continue
            for name in ("GET", "SET"):
                entry[name].append(ours[name] / plain[name])
    for entry in found.values():
        for name in ("GET", "SET"):
            entry[name] = measure.spread(entry[name]) if entry[name] else None
    return found


def measure_waits(context):
    return {"calls": call_prices(context), "redis": redis(context) if shutil.which("redis-server") else {},
            "cores": os.cpu_count()}


def call_rows(results):
    return [[title, *(f"{results['waits']['calls'][name][key]:,.1f} ns" for key in ("plain", "recorder", "waits"))]
            for name, title in CALLS.items()]


def redis_rows(results):
    return [[entry["title"], *(verdicts.ratio(entry[name]) if entry[name] else "not done in a minute"
                               for name in ("GET", "SET"))]
            for entry in results["waits"]["redis"].values()]
