"""The workloads, built from Debian's sources, once for each way of profiling.

Every program is compiled with -O2 -g and differs in its hooks only:
    plain    none
    fentry   -pg -mfentry, not linked with -pg: for us, the empty hook and uftrace
    gprof    -pg, linked with -pg: gprof's own build
    cyg      -finstrument-functions
    clang, xray   clang without, and with -fxray-instrument
What was built stays in build/bench; a change of the flags builds it anew.
"""
import concurrent.futures
import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess

COMPILE = {
    "plain": [],
    "fentry": ["-pg", "-mfentry"],
    "gprof": ["-pg"],
    # What fbleprof_instrument() of our CMake package gives: no hooks in inlined system headers.
    "cyg": ["-finstrument-functions",
            "-finstrument-functions-exclude-file-list=/usr/include,/usr/lib/gcc"],
    "clang": [],
    "xray": ["-fxray-instrument", "-fxray-instruction-threshold=1"],
}
LINK = {"gprof": ["-pg"], "xray": ["-fxray-instrument"]}


@dataclasses.dataclass
class Recipe:
    """How one program is built: sources are globs in its Debian source tree (or absolute)."""
    package: str
    sources: list
    flags: list = dataclasses.field(default_factory=list)
    leave_out: tuple = ()
    libraries: tuple = ()
    own_sources: tuple = ()  # of tests/bench/programs
    prepare: str = None  # a shell command, run once in the source tree
    cxx: bool = False


LUA = Recipe("lua5.4", ["src/*.c"],
             # The hash seed is fixed: every run makes the same calls.
             ["-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3", "-Dluai_makeseed(L)=0"],
             leave_out=("luac.c",), libraries=("-Wl,-E", "-lm", "-ldl"),
             prepare="echo '#define DEB_HOST_MULTIARCH \"lib\"' > src/lua5.4-deb-multiarch.h")
SQLITE = Recipe("sqlite3", ["sqlite3.c", "test/speedtest1.c"],
                ["-I.", "-DSQLITE_THREADSAFE=0", "-DSQLITE_ENABLE_RTREE", "-DSQLITE_OMIT_LOAD_EXTENSION"],
                libraries=("-lm",),
                prepare="./configure --disable-tcl >/dev/null && make -s sqlite3.c >/dev/null")
ZSTD = Recipe("libzstd", ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c",
                          "lib/dictBuilder/*.c", "lib/decompress/*.S", "programs/*.c"],
              ["-Ilib", "-Ilib/common", "-DZSTD_MULTITHREAD", "-DZSTD_LEGACY_SUPPORT=0",
               "-DXXH_NAMESPACE=ZSTD_"],
              libraries=("-pthread",))
RE2 = Recipe("re2", ["re2/*.cc", "util/rune.cc", "util/strutil.cc", "util/pcre.cc",
                     "re2/testing/backtrack.cc", "re2/testing/dump.cc",
                     "re2/testing/exhaustive_tester.cc", "re2/testing/regexp_generator.cc",
                     "re2/testing/string_generator.cc", "re2/testing/tester.cc",
                     "re2/testing/search_test.cc", "re2/testing/simplify_test.cc",
                     "re2/testing/set_test.cc", "re2/testing/filtered_re2_test.cc"],
             ["-I.", "-DNDEBUG"], libraries=("-pthread",), cxx=True,
             own_sources=("re2_tests.cc",),
             prepare="make -s REBUILD_TABLES=1 re2/unicode_casefold.cc re2/unicode_groups.cc "
                     "re2/perl_groups.cc")


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-8:])
        raise SystemExit(f"scripts/bench: {command if isinstance(command, str) else ' '.join(map(str, command))}\n{tail}")
    return done.stdout


class Builder:
    def __init__(self, source_root, cache):
        self.root = source_root
        self.cache = cache
        self.jobs = os.cpu_count()

    def source(self, package):
        """Debian's source tree of the package, fetched once."""
        tree = self.cache / "src" / package
        if not tree.exists():
            scratch = self.cache / "src" / f".{package}"
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
            run(["apt-get", "source", "-q", package], cwd=scratch)
            unpacked = next(path for path in scratch.iterdir() if path.is_dir())
            unpacked.rename(tree)
            shutil.rmtree(scratch)
        return tree

    def prepared(self, recipe):
        tree = self.source(recipe.package)
        done = tree / ".bench-prepared"
        if recipe.prepare and not done.exists():
            run(recipe.prepare, cwd=tree, shell=True)
            done.touch()
        return tree

    def program(self, name, recipe, variant):
        """Path of the program, built if it is not there yet."""
        tree = self.prepared(recipe)
        clang = variant in ("clang", "xray")
        compiler = {(False, False): "gcc", (False, True): "g++",
                    (True, False): "clang-14", (True, True): "clang++-14"}[clang, recipe.cxx]
        compile_ = [compiler, "-O2", "-g", "-w", *recipe.flags, *COMPILE[variant]]
        link = [compiler, *LINK.get(variant, [])]
        output = self.cache / "bin" / f"{name}.{variant}"
        sources = sorted(path for pattern in recipe.sources for path in tree.glob(pattern)
                         if path.name not in recipe.leave_out)
        sources += [self.root / "tests/bench/programs" / own for own in recipe.own_sources]
        stamp = hashlib.sha256(repr((compile_, link, recipe.libraries, sources)).encode()).hexdigest()
        stamp_file = output.with_suffix(output.suffix + ".stamp")
        if output.exists() and stamp_file.exists() and stamp_file.read_text() == stamp:
            return output
        print(f"building {output.name}", flush=True)
        objects = self.cache / "objects" / output.name
        shutil.rmtree(objects, ignore_errors=True)
        objects.mkdir(parents=True)
        output.parent.mkdir(exist_ok=True)

        def compile_one(path):
            target = objects / (os.path.relpath(path, tree).replace("/", "_") + ".o")
            run([*compile_, "-c", path, "-o", target], cwd=tree)
            return target
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            files = list(pool.map(compile_one, sources))
        run([*link, *files, "-o", output, *recipe.libraries])
        shutil.rmtree(objects)
        stamp_file.write_text(stamp)
        return output

    def redis(self, variant):
        """Redis by its own Makefile, in a copy of its tree: it builds its dependencies as well."""
        output = self.cache / "bin" / f"redis-server.{variant}"
        if output.exists():
            return output
        print(f"building {output.name}", flush=True)
        tree = self.cache / "objects" / output.name
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.source("redis"), tree, symlinks=True)
        flags = " ".join(["-w", *COMPILE[variant]])
        link = " ".join(LINK.get(variant, []))
        run(["make", f"-j{self.jobs}", "-C", tree / "src", "redis-server", "MALLOC=libc",
             "USE_SYSTEMD=no", "OPTIMIZATION=-O2", f"REDIS_CFLAGS={flags}", f"REDIS_LDFLAGS={link}"])
        output.parent.mkdir(exist_ok=True)
        shutil.copy(tree / "src/redis-server", output)
        shutil.rmtree(tree)
        return output

    def cppcheck(self, variant):
        """cppcheck by its own Makefile. gprof is linked from the objects with hooks: `-pg -mfentry` is
        for it, too, and they take minutes to compile."""
        tree = self.cache / "objects" / f"cppcheck.{'plain' if variant == 'plain' else 'hooks'}"
        output = self.cache / "bin" / f"cppcheck.{variant}"
        if output.exists():
            return output
        print(f"building {output.name}", flush=True)
        if not tree.exists():
            shutil.copytree(self.source("cppcheck"), tree, symlinks=True)
        hooks = [] if variant == "plain" else COMPILE["fentry"]
        (tree / "cppcheck").unlink(missing_ok=True)
        # cppcheck looks for its configuration in its build directory.
        run(["make", f"-j{self.jobs}", "cppcheck", f"CXXFLAGS={' '.join(['-O2 -DNDEBUG -w', *hooks])}",
             f"LDFLAGS={' '.join(LINK.get(variant, []))}", f"FILESDIR={tree}"], cwd=tree)
        output.parent.mkdir(exist_ok=True)
        shutil.copy(tree / "cppcheck", output)
        return output

    def own(self, source, variant="plain", name=None, flags=(), libraries=()):
        """A program or library of tests/bench/programs, or one of tests/programs."""
        own = self.root / "tests/bench/programs" / source
        source = own if own.exists() else self.root / "tests/programs" / source
        output = self.cache / "bin" / f"{name or source.stem}.{variant}"
        command = ["g++" if source.suffix == ".cc" else "gcc", "-O2", "-g", "-Wall", "-Wextra",
                   f"-I{self.root / 'libprof/include'}", *COMPILE[variant], *flags]
        stamp = hashlib.sha256(source.read_bytes() + repr(command).encode()).hexdigest()
        stamp_file = output.with_suffix(output.suffix + ".stamp")
        if not (output.exists() and stamp_file.exists() and stamp_file.read_text() == stamp):
            output.parent.mkdir(parents=True, exist_ok=True)
            object_ = output.with_suffix(output.suffix + ".o")
            run([*command, "-c", source, "-o", object_])
            run([command[0], *[f for f in flags if f in ("-shared", "-pthread")],
                 *LINK.get(variant, []), object_, "-o", output, *libraries])
            object_.unlink()
            stamp_file.write_text(stamp)
        return output
