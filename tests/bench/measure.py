"""Running programs and telling what they took. Times are CPU time, user and system, of the program
and its children: what a loaded machine's other work changes least."""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import time


@dataclasses.dataclass
class Run:
    cpu: float  # seconds, user and system
    user: float
    wall: float
    peak_bytes: int
    output: str
    status: int = 0  # exit status; negative: killed by that signal


def environment(extra):
    env = {key: value for key, value in os.environ.items() if not key.startswith("FBLEPROF_")}
    env.update({key: str(value) for key, value in extra.items()})
    return env


def finish(process, started, output=""):
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_utime, time.monotonic() - started,
               usage.ru_maxrss * 1024, output, process.returncode)


def run(command, cwd, env=None, capture=False, while_running=None, may_fail=False):
    """Runs it to its end; `while_running(process)` is called every 50 ms."""
    command = [str(part) for part in command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd, env=environment(env or {}), stdin=subprocess.DEVNULL,
                                   stdout=out if capture else subprocess.DEVNULL, stderr=err)
        if while_running:
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                while_running(process)
                time.sleep(0.05)
        result = finish(process, started)
        if process.returncode != 0 and not may_fail:
            err.seek(0)
            raise SystemExit(f"scripts/bench: status {process.returncode}: {' '.join(command)}\n"
                             f"{err.read()[-600:]}")
        if capture:
            out.seek(0)
            result.output = out.read()
    return result


@contextlib.contextmanager
def scratch(cache):
    path = pathlib.Path(tempfile.mkdtemp(dir=cache, prefix="run."))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def stop(process):
    process.send_signal(signal.SIGTERM)


@dataclasses.dataclass
class Spread:
    """The median and range of some runs, or of their ratios."""
    median: float
    low: float
    high: float
    count: int

    def to_json(self):
        return dataclasses.asdict(self)


def spread(values):
    values = list(values)
    return Spread(statistics.median(values), min(values), max(values), len(values)).to_json()


def ratios(numerators, denominators):
    """Pair by pair: both of a pair ran one after the other, under the same load."""
    return spread(a / b for a, b in zip(numerators, denominators))


def bytes_under(path):
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
    # The file's size on disk: ours is sparse while it is live.
    return sum(f.stat().st_blocks * 512 for f in files)
