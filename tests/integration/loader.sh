#!/bin/bash
# Libraries that are loaded and unloaded: reused addresses name the right function.
. "$(dirname "$0")/lib.sh"

for mode in fentry cyg; do
  begin "plugins in turn $mode"
  same "$PROGRAMS/plugin_host.$mode" "$PROGRAMS/first.$mode" "$PROGRAMS/second.$mode"
  expected
done
begin "plugins in turn without hooks"
same "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
verified "$profile"

# A thread that ended leaves its memory, with its cache, to the next one.
begin "plugins in turn, in a thread each"
cat >"$dir/plugin.c" <<'END'
#define LEAF(n) \
  __attribute__((noinline)) void NAME##_##n(void) { __asm__ volatile(""); }
#define LEAVES(a) LEAF(a##0) LEAF(a##1) LEAF(a##2) LEAF(a##3) LEAF(a##4) LEAF(a##5) LEAF(a##6)
LEAVES(1) LEAVES(2) LEAVES(3)
END
cat >"$dir/host.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static volatile int sink;
static __attribute__((noinline)) void* host(void* leaf) {
  ((void (*)(void))leaf)();
  ++sink;
  return 0;
}
int main(int argc, char** argv) {
  for (int i = 0; i < 20; ++i) {
    void* plugin = dlopen(argv[1 + i % (argc - 1)], RTLD_NOW);
    if (!plugin) return puts(dlerror());
    pthread_t thread;
    pthread_create(&thread, 0, host, dlsym(plugin, i % 2 == 0 ? "one_13" : "two_13"));
    pthread_join(thread, 0);
    dlclose(plugin);
  }
  puts("expect host one_13 10\nexpect host two_13 10");
}
END
sed 's/NAME##_/one_/' "$dir/plugin.c" >"$dir/one.c"
sed 's/NAME##_/two_/' "$dir/plugin.c" >"$dir/two.c"
for name_of in one two; do
  gcc -O2 -pg -mfentry -shared -fPIC "$dir/$name_of.c" -o "$dir/$name_of.so" || fail "cannot build"
done
gcc -O2 -g -pg -mfentry -c "$dir/host.c" -o "$dir/host.o" && gcc "$dir/host.o" -o "$dir/host" -ldl -pthread
same "$dir/host" "$dir/one.so" "$dir/two.so"
expected

# Samples in a plugin, after another one was unloaded and before it is.
begin "a plugin that is unloaded later than another"
same "$PROGRAMS/unloading_later.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain" 3
verified "$profile"
check "it was registered once for each time" \
  "$("$REPORT" --raw "$profile" | grep -a '^module' | grep -c 'first.plain')" = 1

# Hooks in a plugin alone, and in a host alone
begin "hooks in the plugin alone"
same "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.fentry" "$PROGRAMS/second.fentry"
verified "$profile"
check "the plugin's calls" "$(calls run_plugin first_leaf)" = 5000
check "the other plugin's calls" "$(calls run_plugin second_leaf)" = 2500
begin "hooks in the host alone"
same "$PROGRAMS/plugin_host.fentry" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
verified "$profile"
check "the host's calls" "$(calls main callback)" = 7500

begin "other preloaded libraries stay"
echo 'int fbleprof_test_marker(void) { return 1; }' >"$dir/other.c"
gcc -shared -fPIC "$dir/other.c" -o "$dir/other.so"
run profiled LD_PRELOAD="$LIB:$dir/other.so" FBLEPROF_OUT="$profile" -- \
  sh -c 'grep -c other.so /proc/self/maps >/dev/null && echo here'
check "it is loaded" "$(cat "$dir/profiled.out")" = here

# A C host that loads a C++ plugin which throws: libunwind must not replace the unwinder.
begin "exceptions in a plugin of a C program"
cat >"$dir/thrower.cc" <<'END'
#include <stdexcept>
extern "C" int run() {
  int caught = 0;
  for (int i = 0; i < 1000; ++i) {
    try { throw std::runtime_error("x"); } catch (const std::exception&) { ++caught; }
  }
  return caught;
}
END
cat >"$dir/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[argc - 1], RTLD_NOW);
  if (!plugin) return puts(dlerror());
  printf("%d\n", ((int (*)(void))dlsym(plugin, "run"))());
  return 0;
}
END
g++ -O2 -shared -fPIC "$dir/thrower.cc" -o "$dir/thrower.so" && gcc "$dir/host.c" -o "$dir/host" -ldl
same "$dir/host" "$dir/thrower.so"
verified "$profile"

# The loader reports such a program one segment at a time: naming its functions needs all of them.
for program in far.{fentry,mcountc,cyg,plain} far_pie.{fentry,cyg,plain}; do
  begin "a hole between segments: $program"
  same "$PROGRAMS/$program"
  if [ "${program##*.}" = plain ]; then verified "$profile"; else expected; fi
  check "the program is one module" "$("$REPORT" --raw "$profile" |
    grep -c "^module .*path=\"$PROGRAMS/far.* build_id=[0-9a-f]")" = 1
  check "every module has its path" "$("$REPORT" --raw "$profile" | grep -c '^module .*path=""')" = 0
  near "the far functions' share" "$(dominated far_work)" 50 15
  near "the near function's share" "$(share near_work)" 25 15
done

begin "the loader is what is executed"
loader=$(readelf -l "$PROGRAMS/notes.fentry" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
for program in notes.fentry far.fentry far_pie.fentry; do
  (cd "$PROGRAMS" && FBLEPROF_OUT="$dir/%e.out" "$loader" --preload "$LIB" "./$program") >"$dir/profiled.out"
  profile=$dir/$program.out
  expected
  check "the program is $program" "$(basename "$(fact executable)")" = "$program"
done

# The loader maps it, finds that a symbol is missing, and maps the next one at its address.
begin "a library that cannot be loaded, and another in its place"
cat >"$dir/library.c" <<'END'
#ifdef LACKING
void missing(void);
void call(void) { missing(); }
#else
void call(void) {}
#endif
__attribute__((noinline)) long NAME(long n) {
  unsigned long x = 1;
  for (long i = 0; i < n; ++i) {
    x = x * 6364136223846793005ul + 1;
    __asm__ volatile("" : "+r"(x));
  }
  return (long)x;
}
END
cat >"$dir/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* lacking = dlopen(argv[1], RTLD_NOW);
  void* whole = dlopen(argv[argc - 1], RTLD_NOW);
  long (*work)(long) = (long (*)(long))dlsym(whole, "works");
  printf("%d %d\n", lacking != 0, work(100000000) != 0);
  return 0;
}
END
gcc -O1 -shared -fPIC -DLACKING -DNAME=fails "$dir/library.c" -o "$dir/lacking.so"
gcc -O1 -shared -fPIC -DNAME=works "$dir/library.c" -o "$dir/whole.so"
gcc -O1 "$dir/host.c" -o "$dir/host" -ldl
same "$dir/host" "$dir/lacking.so" "$dir/whole.so"
verified "$profile"
check "time is the second one's" "$(share works | cut -d. -f1)" -ge 80
