#!/bin/bash
# Libraries that come and go: addresses that are used again name the right function.
. "$(dirname "$0")/lib.sh"

for mode in fentry cyg; do
  begin "plugins in turn $mode"
  same "$PROGRAMS/plugin_host.$mode" "$PROGRAMS/first.$mode" "$PROGRAMS/second.$mode"
  expected
done
begin "plugins in turn without hooks"
same "$PROGRAMS/plugin_host.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
verified "$profile"

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

# A C host that loads a C++ plugin which throws: libunwind must not take the unwinder's place.
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

# The loader answers for such a program one segment at a time: its names need all of them.
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
