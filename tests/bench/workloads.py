"""The programs that are profiled. Each takes a size, so that what is slow (callgrind, a tracer that
writes gigabytes) runs less of the same."""
import dataclasses
import math
import pathlib
import socket
import subprocess
import time

import builds
import measure


@dataclasses.dataclass
class Workload:
    name: str
    title: str
    recipe: object
    arguments: object  # (context, size) -> list
    size: int          # plain takes about 0.4 s
    rounds: int = 3
    variants: tuple = ("plain", "fentry", "gprof", "cyg")
    threads: int = 1

    def binary(self, context, variant):
        if self.recipe is None:
            return context.builder.own(pathlib.Path("fib.c"), variant, libraries=["-pthread"])
        name = "lua" if self.recipe is builds.LUA else self.recipe.package
        return context.builder.program(name, self.recipe, variant)

    def run(self, context, variant, share=1.0, prefix=(), env=None, cwd=None, while_running=None,
            may_fail=False):
        """One run of `share` of the full size."""
        size = max(1, round(self.size * share * context.scale))
        command = [*prefix, self.binary(context, variant), *self.arguments(context, size)]
        return measure.run(command, cwd or context.cache, env, while_running=while_running,
                           may_fail=may_fail)


class Redis(Workload):
    """The server's CPU time while redis-benchmark asks it `size` times for each of its commands."""

    def binary(self, context, variant):
        return context.builder.redis(variant)

    def run(self, context, variant, share=1.0, prefix=(), env=None, cwd=None, while_running=None,
            may_fail=False):
        requests = max(500, round(self.size * share * context.scale))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        command = [*map(str, prefix), str(self.binary(context, variant)), "--port", port, "--save", "",
                   "--appendonly", "no", "--daemonize", "no", "--bind", "127.0.0.1"]
        started = time.monotonic()
        server = subprocess.Popen(command, cwd=cwd or context.cache, env=measure.environment(env or {}),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                    break
            time.sleep(0.05)
        client = subprocess.Popen(["redis-benchmark", "-p", port, "-q", "-n", str(requests), "-P", "16",
                                   "-t", "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while client.poll() is None:
            if while_running:
                while_running(server)
            time.sleep(0.05)
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True)
        run = measure.finish(server, started)
        if run.status != 0 and not may_fail:
            raise SystemExit(f"scripts/bench: status {run.status}: {' '.join(command)}")
        return run


def lua(program):
    return lambda context, size: [context.root / f"tests/bench/lua/{program}.lua", size]


def corpus_of(context, megabytes):
    """What is compressed: C source, as Debian ships it, again and again up to the size."""
    path = context.cache / f"corpus.{megabytes}"
    if not path.exists():
        text = b"".join(source.read_bytes()
                        for source in sorted(context.builder.source("redis").rglob("*.[ch]")))
        whole, rest = divmod(megabytes << 20, len(text))
        path.write_bytes(text * whole + text[:rest])
    return path


def fib_of(context, size):
    """Each step of fib's argument is a factor of 1.618."""
    return [round(20 + math.log(size, 1.618))]


WORKLOADS = [
    Workload("lua-strings", "Lua: strings and tables", builds.LUA, lua("strings"), 240, rounds=7),
    Workload("lua-calls", "Lua: closures and calls", builds.LUA, lua("calls"), 4000, rounds=7),
    Workload("lua-numbers", "Lua: sorting and numbers", builds.LUA, lua("numbers"), 450, rounds=7),
    Workload("sqlite", "SQLite: speedtest1", builds.SQLITE,
             lambda context, size: [":memory:", "--size", size], 27),
    Workload("zstd", "zstd -9", builds.ZSTD,
             lambda context, size: ["-q", "-9", "-f", "--single-thread", corpus_of(context, size), "-o",
                                    "/dev/null"], 16),
    Workload("zstd-threads", "zstd -9 on 2 threads", builds.ZSTD,
             lambda context, size: ["-q", "-9", "-f", "-T2", "-B1MiB", corpus_of(context, size), "-o",
                                    "/dev/null"], 16, threads=2),
    Workload("re2", "RE2: its search tests (C++)", builds.RE2, lambda context, size: [size], 40),
    Redis("redis", "Redis under redis-benchmark", None, None, 40000,
          variants=("plain", "fentry", "gprof")),
    Workload("fib", "fib: only calls", None, fib_of, 24500),
]
