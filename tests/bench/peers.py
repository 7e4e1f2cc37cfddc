"""The ways of profiling that are compared: which build of a workload each takes, and how it runs."""
import dataclasses
import glob

FULL = 1.0


@dataclasses.dataclass
class Peer:
    name: str
    title: str
    variant: str
    against: str = "plain"  # the peer whose runs, one by one, its own are divided by
    share: float = FULL     # of the workload's size; smaller for what takes tens of times as long
    once: bool = False

    @property
    def is_foreign(self):
        """A tool whose failure is a result."""
        return self.name in ("uftrace", "uftrace-cheap", "callgrind", "xray", "gperftools")

    def run(self, workload, context, cwd, **options):
        prefix, env = self.how(context, cwd)
        return workload.run(context, self.variant, self.share, prefix, env, cwd, **options)

    def how(self, context, cwd):
        ours = {"LD_PRELOAD": context.library, "FBLEPROF_OUT": cwd / "mlmon.out"}
        return {
            "plain": ([], {}),
            "clang": ([], {}),
            "plain-small": ([], {}),
            "floor": ([], {"LD_PRELOAD": context.empty_hooks}),
            "hooked": ([], ours),
            "gprof": ([], {}),
            "cyg-floor": ([], {"LD_PRELOAD": context.empty_hooks}),
            "cyg": ([], ours),
            "cyg-quiet": ([], {**ours, "FBLEPROF_RATE": 1}),
            "empty-sampler": ([], {"LD_PRELOAD": context.empty_sampler, "EMPTY_SAMPLER_RATE": 1000}),
            "unhooked": ([], ours),
            "gperftools": ([], {"LD_PRELOAD": libprofiler(), "CPUPROFILE": cwd / "gperftools"}),
            "perf": (["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-g", "-o",
                      cwd / "perf.data", "--"], {}),
            "uftrace-cheap": (["uftrace", "record", "-t", "1s", "-d", cwd / "uftrace"], {}),
            "uftrace": (["uftrace", "record", "-d", cwd / "uftrace"], {}),
            "callgrind": (["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                           f"--callgrind-out-file={cwd}/callgrind.out"], {}),
            "xray": ([], {"XRAY_OPTIONS": "patch_premain=true xray_mode=xray-profiling verbosity=0"}),
        }[self.name]


def libprofiler():
    return sorted(glob.glob("/usr/lib/*/libprofiler.so.0"))[0]


SMALL = 0.2
PEERS = [
    Peer("plain", "plain", "plain"),
    Peer("floor", "an empty `__fentry__`", "fentry"),
    Peer("hooked", "**fbleprof**, `-pg -mfentry`", "fentry"),
    Peer("gprof", "gprof, its own build (`-pg`)", "gprof"),
    Peer("cyg-floor", "empty `__cyg_profile_func_*`", "cyg"),
    Peer("cyg", "**fbleprof**, `-finstrument-functions`", "cyg"),
    Peer("cyg-quiet", "the same, sampled once a second", "cyg"),
    Peer("empty-sampler", "an empty handler of 1000 signals a second (main thread)", "plain"),
    Peer("unhooked", "**fbleprof**, no hooks, 1000 Hz", "plain"),
    Peer("gperftools", "gperftools, 100 Hz", "plain"),
    Peer("perf", "perf record -F 1000 -g", "plain"),
    Peer("plain-small", "plain, a fifth of the work", "plain", share=SMALL),
    Peer("uftrace-cheap", "uftrace, cheapest (`-t 1s`)", "fentry", "plain-small", SMALL, once=True),
    Peer("uftrace", "uftrace, full", "fentry", "plain-small", SMALL, once=True),
    Peer("callgrind", "callgrind", "plain", "plain-small", SMALL, once=True),
]
XRAY_PEERS = [
    Peer("clang", "plain, by clang", "clang", against="clang"),
    Peer("xray", "LLVM XRay, profiling mode", "xray", "clang"),
]
