#!/bin/bash
# The C API: named blocks, tail calls, green threads, ticks; linked in every way, with and without
# the library.
. "$(dirname "$0")/lib.sh"

build() { # COMPILER FLAG...: the program of this case
  "$@" -O2 -g -Wall -Wextra -Werror -I"$SOURCE/libprof/include" "$here/../programs/api.c" \
    -o "$dir/api" || fail "cannot build: $*"
}

for way in "gcc -std=c99 -D_GNU_SOURCE -fPIE -pie" "gcc -fno-pie -no-pie" "gcc -pg -mfentry" \
  "clang-14 -std=c99 -D_GNU_SOURCE" "g++ -x c++"; do
  begin "api, $way"
  # shellcheck disable=SC2086  # words
  build $way
  same "$dir/api"
  expected
done

for mode in fentry plain; do
  begin "arguments at the edge of what the API takes, $mode"
  profiled "$PROGRAMS/api_edges.$mode" recorded "$dir/written"
  check "all holds" "$(cat "$dir/profiled.out")" = "failed 0"
  verified "$profile" "$dir/written"
  begin "a profile that is written while threads go on, $mode"
  profiled "$PROGRAMS/api_edges.$mode" busy "$dir/busy"
  check "all holds" "$(cat "$dir/profiled.out")" = "failed 0"
  verified "$profile" "$dir"/busy.*
  begin "the API without a recorder, and where there is no profile, $mode"
  settings=(FBLEPROF_OUT=/nowhere/mlmon.out)
  same "$PROGRAMS/api_edges.$mode" nothing "$dir/written"
  check "all holds" "$(cat "$dir/plain.out")" = "failed 0"
  begin "the API in a profile that is full, $mode"
  settings=(FBLEPROF_MEMORY=2M)
  profiled "$PROGRAMS/api_edges.$mode" full -
  check "all holds" "$(cat "$dir/profiled.out")" = "failed 0"
  verified "$profile"
done

begin "functions of the header and wrappers have no hooks, even if nothing is inlined"
cat >"$dir/blocks.c" <<'END'
#include <fbleprof/fbleprof.h>
FBLEPROF_WRAPPER static void begin(fbleprof_block block) { fbleprof_enter(block); }
FBLEPROF_WRAPPER static void end(fbleprof_block block) { fbleprof_leave(block); }
__attribute__((noinline)) void work(void) { __asm__(""); }
int main(void) {
  fbleprof_block outer = fbleprof_block_new("outer", __FILE__, __LINE__);
  fbleprof_block inner = fbleprof_block_new("inner", __FILE__, __LINE__);
  for (int i = 0; i < 500; ++i) {
    fbleprof_enter(outer);
    begin(inner);
    work();
    end(inner);
    fbleprof_leave(outer);
  }
  return 0;
}
END
for way in "gcc -fpatchable-function-entry=5" "gcc -pg -mfentry" "gcc -finstrument-functions" \
  "clang-14 -fpatchable-function-entry=5" "clang-14 -fxray-instrument -fxray-instruction-threshold=1"; do
  # shellcheck disable=SC2086  # words
  $way -O0 -Wall -Wextra -Werror -I"$SOURCE/libprof/include" "$dir/blocks.c" -o "$dir/blocks" || fail "cannot build: $way"
  profiled "$dir/blocks"
  "$REPORT" --export folded --metric calls "$profile" >"$dir/folded"
  check "only its functions, $way" "$(grep -c . "$dir/folded")" = 4
  has_text '^main;outer;inner;work 500$' "$dir/folded" || fail "not in their blocks, $way"
done

begin "a leave as a function's last call"
cat >"$dir/last.c" <<'END'
#include <fbleprof/fbleprof.h>
static fbleprof_block block;
__attribute__((noinline)) void work(void) { __asm__(""); }
__attribute__((noinline)) void leaves(int depth) {
  fbleprof_enter(block);
  if (depth > 0) leaves(depth - 1);
  work();
  fbleprof_leave(block);
}
__attribute__((noinline)) void leaves_newest(void) {
  fbleprof_enter(block);
  work();
  fbleprof_leave_newest();
}
__attribute__((noinline)) uint64_t marks(void) { return fbleprof_mark(); }
int main(void) {
  block = fbleprof_block_new("block", __FILE__, __LINE__);
  fbleprof_enter(block);
  leaves(1);
  leaves_newest();
  marks();
  work();
  fbleprof_leave(block);
  return 0;
}
END
for way in "gcc -fpatchable-function-entry=5" "gcc -pg -mfentry" "gcc" "clang-14 -fpatchable-function-entry=5"; do
  # shellcheck disable=SC2086  # words
  $way -O2 -Wall -Wextra -Wpedantic -Werror -I"$SOURCE/libprof/include" "$dir/last.c" -o "$dir/last" || fail "cannot build: $way"
  if [ "$way" = gcc ]; then
    settings+=(FBLEPROF_EXACT=program FBLEPROF_EXACT_PLANS="$dir" FBLEPROF_EXACT_TOOL="$FBLE_PROF")
  fi
  settings+=(FBLEPROF_COMPACT=none)
  profiled "$dir/last"
  settings=()
  check "all match, $way" "$(fact unmatched_leaves)" = 0
  "$REPORT" --export folded --metric calls "$profile" >"$dir/folded"
  for path in main\;block main\;block\;leaves\;block\;leaves\;block\;work main\;block\;leaves\;block\;work main\;block\;leaves_newest\;block\;work main\;block\;work; do
    has_text "$path 1\$" "$dir/folded" || fail "no $path, $way"
  done
done

begin "api, static: nothing to find"
build gcc -static
same "$dir/api"
check "no profile" ! -e "$profile"

begin "api, as a plugin"
gcc -O2 -shared -fPIC -Dmain=run_api -I"$SOURCE/libprof/include" "$here/../programs/api.c" \
  -o "$dir/api.so" || fail "cannot build the plugin"
cat >"$dir/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[argc - 1], RTLD_NOW);
  if (!plugin) return puts(dlerror());
  return ((int (*)(void))dlsym(plugin, "run_api"))();
}
END
gcc "$dir/host.c" -o "$dir/host" -ldl
same "$dir/host" "$dir/api.so"
expected

begin "api, switched off at start"
build gcc
settings=(FBLEPROF_START=off)
same "$dir/api"

begin "api, a wrapper with hooks"
for wrapper in "" FBLEPROF_WRAPPER; do
  cat >"$dir/wraps.c" <<END
#include <fbleprof/fbleprof.h>
static volatile int sink;
$wrapper __attribute__((noipa)) static void begin(fbleprof_block block) { fbleprof_enter(block); sink = 1; }
int main(void) {
  fbleprof_block block = fbleprof_block_new("block", 0, 0);
  for (int i = 0; i < 3; ++i) {
    begin(block);
    fbleprof_leave(block);
  }
}
END
  gcc -O1 -pg -mfentry -I"$SOURCE/libprof/include" "$dir/wraps.c" -o "$dir/wraps" || fail "cannot build"
  same "$dir/wraps"
  check "unmatched leaves with '$wrapper'" "$(fact unmatched_leaves)" = "$([ "$wrapper" ] && echo 0 || echo 3)"
  for view in --summary --overview; do
    "$REPORT" $view "$profile" | tr -s ' \n' ' ' >"$dir/said"
    check "$view names the remedy with '$wrapper'" \
      "$(grep -c '3 calls to leave what was not entered.*FBLEPROF_WRAPPER' "$dir/said")" = "$([ "$wrapper" ] && echo 0 || echo 1)"
  done
done

begin "api, a query of 200,000 contexts"
"${CC:-gcc}" -O2 -g -Wall -Wextra -Werror -I"$SOURCE/libprof/include" "$here/../programs/query_tree.c" \
  -o "$dir/query_tree" || fail "cannot build query_tree.c"
settings=(FBLEPROF_RATE=1)
same "$dir/query_tree"
verified "$profile"

# Without time the profile of a program is the same on every run.
begin "the clock of ticks"
settings=(FBLEPROF_CLOCK=ticks)
build gcc -pg -mfentry
for program in "$PROGRAMS/notes.fentry" "$PROGRAMS/notes.cyg" "$dir/api"; do
  for run in 1 2 3; do
    profiled "$program"
    verified "$profile"
    check "$program: no time" "$(fact cpu_ns) $(fact samples) $(fact overhead_ns)" = "0 0 0"
    "$REPORT" --raw "$profile" | sed -n 's/ site=0x[^ ]*//;/^\(node\|edge\) /p' >"$dir/$run.raw"
    "$REPORT" --format csv "$profile" >"$dir/$run.csv"
  done
  check "$program: contexts" -s "$dir/1.raw"
  for run in 2 3; do
    for what in csv raw; do
      cmp -s "$dir/1.$what" "$dir/$run.$what" ||
        fail "$program: run $run differs: $(diff "$dir/1.$what" "$dir/$run.$what" | head -n 5)"
    done
  done
done
check "the metric is ticks" "$("$REPORT" "$profile" | grep -c '^ticks [0-9,]* in all')" = 1
begin "the clock of ticks, threads"
settings=(FBLEPROF_CLOCK=ticks)
same "$PROGRAMS/threads.fentry"
expected
check "no time on any thread" "$(fact cpu_ns) $(fact samples)" = "0 0"
begin "the clock of ticks, calls alone"
settings=(FBLEPROF_CLOCK=ticks)
profiled "$PROGRAMS/count.fentry" 15
check "the metric is calls" "$("$REPORT" "$profile" | grep -c '^calls 1,9[0-9]* in all')" = 1
check "the heading says so" "$("$REPORT" "$profile" | grep -c 'clock ticks, not time')" = 1
begin "the clock of ticks without hooks"
settings=(FBLEPROF_CLOCK=ticks)
profiled "$PROGRAMS/split.plain" 20
verified "$profile"
check "the heading says so" "$("$REPORT" "$profile" | grep -c 'nothing with hooks ran')" = 1
check "the recorder too" "$("$REPORT" --summary "$profile" | grep -c 'nothing to show')" = 1
begin "a profile in which a thread ends, with waits"
cat >"$dir/ends.c" <<'END'
#include <fbleprof/fbleprof.h>
#include <pthread.h>
static void* in_profile(void* profile) {
  fbleprof_profile_with(profile);
  for (volatile long i = 0; i < 20000000; ++i) continue;
  pthread_exit(NULL);
}
int main(int count, char** arguments) {
  fbleprof_profile* const profile = fbleprof_profile_new("ends");
  pthread_t thread;
  if (count != 2 || pthread_create(&thread, NULL, in_profile, profile) != 0) return 1;
  pthread_join(thread, NULL);
  return fbleprof_profile_write(profile, arguments[1]);
}
END
gcc -O1 -I"$SOURCE/libprof/include" -o "$dir/ends" "$dir/ends.c" || fail "cannot build"
settings=("LD_PRELOAD=${LIB%.so}_wait.so:$LIB" FBLEPROF_WAITS=1)
profiled "$dir/ends" "$dir/ends.out"
verified "$profile" "$dir/ends.out"

for mode in fentry plain; do
  begin "a profile for work shorter than a sampling period, $mode"
  profiled "$PROGRAMS/ending_threads.$mode" profile
  verified "$profile"
  check "its functions have the time" "$(dominated work | cut -d. -f1)" -ge 40
  check "little is of no function" "$(share '[root]' | cut -d. -f1)" -le 5
done
