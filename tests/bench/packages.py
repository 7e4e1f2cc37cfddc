"""What the comparison needs beyond scripts/setup: the peers, and what their workloads are built with."""
import os
import shutil
import subprocess

PACKAGES = [
    "uftrace", "google-perftools", "libgoogle-perftools-dev", "linux-perf", "valgrind", "heaptrack",
    "clang-14", "libclang-rt-14-dev",  # XRay
    "golang-go",  # go tool pprof
    "tcl",  # SQLite's amalgamation is put together by a Tcl script
    "unicode-data", "python3-six",  # RE2's tables
    "redis-server", "redis-tools", "strace",
    "make", "dpkg-dev", "python3",
]


def missing():
    def installed(package):
        query = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
                               capture_output=True, text=True)
        return query.stdout == "installed"
    return [package for package in PACKAGES if not installed(package)]


def install(source_root):
    """scripts/setup brings the compiler, libraries and deb-src entries; here comes the rest."""
    subprocess.run([source_root / "scripts/setup"], check=True)
    packages = missing()
    if not packages:
        return
    command = ["apt-get", "-q", "-y", "install", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        if not shutil.which("sudo"):
            raise SystemExit(f"scripts/bench: run as root, or install: {' '.join(packages)}")
        command = ["sudo", *command]
    subprocess.run(command, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
