#!/bin/bash
# Calls that leave stale entries, unhooked code that calls back, jumps, exceptions, coroutines,
# alternate stacks, stack exhaustion: counts and contexts stay right.
. "$(dirname "$0")/lib.sh"
hooked='fentry gmon mcount mcountc cyg cygclang'

for mode in $hooked; do
  for program in stale jumps throws; do
    begin "$program $mode"
    same "$PROGRAMS/$program.$mode"
    expected
  done
  begin "the same call by code without hooks, for another caller, $mode"
  same "$PROGRAMS/callbacks.$mode"
  expected
  begin "frames that grow, handlers with a stack of their own, $mode"
  same "$PROGRAMS/sized.$mode"
  expected
  begin "unhooked callers $mode"
  same "$PROGRAMS/unhooked.$mode" 1500
  expected
  # memcpy has no hook: it is below its caller.
  check "copier has nearly all the time ($(dominated copier) %)" \
    "$(dominated copier | cut -d. -f1)" -ge 95
  settings=(FBLEPROF_NATIVE_BELOW=off)
  profiled "$PROGRAMS/unhooked.$mode" 1500
  expected
  check "or is a part of it ($(share copier) %)" "$(share copier | cut -d. -f1)" -ge 95
done

# Not where glibc counts too: its own table is too small for so many arcs, and it prints a message.
for mode in fentry mcountc cyg cygclang; do
  begin "more edges than the cache has slots $mode"
  same "$PROGRAMS/crowd.$mode"
  expected
done

for mode in cyg cygclang; do
  begin "inlined $mode"
  same "$PROGRAMS/inlined.$mode"
  expected
  check "the host has what was inlined into it" "$(dominated outer | cut -d. -f1)" -ge 70
  begin "split, and left by longjmp $mode"
  same "$PROGRAMS/parts.$mode"
  expected
done

for mode in fentry mcountc cyg cygclang; do
  for what in zero edge fiber alternate switch; do
    begin "odd stacks $what $mode"
    same "$PROGRAMS/odd_stacks.$mode" $what
    check "it ends well" "$(cat "$dir/profiled.status")" = 'exit 0'
    verified "$profile"
  done
done

# Like Go's functions: no unwind entries nearby, but symbols.
begin "functions in a long gap of the unwind tables"
cat >"$dir/gap.c" <<'END'
#include "block.h"
__asm__(".text\n.skip 8192, 0x90\n");
BLOCK void lasts_thrice(void) { work(90000); }
__asm__(".text\n.skip 64, 0x90\n");
BLOCK void lasts_once(void) { work(30000); }
int main(void) { lasts_thrice(), lasts_once(); return 0; }
END
gcc -O1 -fno-toplevel-reorder -fno-asynchronous-unwind-tables -fno-unwind-tables \
  -I"$here/../programs" "$dir/gap.c" -o "$dir/gap" || fail "gap.c does not build"
same "$dir/gap"
verified "$profile"
near "share of the one" "$(share lasts_thrice)" 75 8
near "share of the other" "$(share lasts_once)" 25 8

for mode in fentry mcountc cyg patchable; do
  begin "coroutines $mode"
  same "$PROGRAMS/coroutines.$mode"
  expected
done

for mode in fentry mcountc cyg cygclang; do
  for stack in below above inside main tiny; do
    begin "alternate stack $stack $mode"
    same "$PROGRAMS/altstack.$mode" $stack
    expected
    share=$(share on_alternate | cut -d. -f1)
    check "time on the alternate stack is charged there ($share %)" "$share" -ge 90
  done
  # No sample has room there, so none is taken: a rate of 1 Hz. The hooks themselves must do with little.
  begin "alternate stack of 3 kB $mode"
  settings=(FBLEPROF_RATE=1)
  same "$PROGRAMS/altstack.$mode" scant
  expected
  begin "alternate stack of a forked child's parent $mode"
  same "$PROGRAMS/altstack.$mode" forked
  verified "$profile"
  expected "$(find "$dir" -name 'mlmon.out.*')"
  begin "alternate stack of a thread that is recorded later $mode"
  settings=(FBLEPROF_THREADS=recorded)
  same "$PROGRAMS/altstack.$mode" named
  expected
  begin "alternate stack too small $mode"
  same "$PROGRAMS/altstack.$mode" useless
  verified "$profile"
  begin "endless recursion $mode"
  limits=(@stack=8388608)
  same "$PROGRAMS/overflow.$mode"
  check "it is killed" "$(cat "$dir/profiled.status")" = 'signal 11'
  verified "$profile"
  begin "endless recursion, caught $mode"
  limits=(@stack=8388608)
  same "$PROGRAMS/overflow.$mode" caught
  expected
done

for mode in fentry mcountc cyg patchable; do
  for how in main thread confined; do
    begin "deep recursion, $how, $mode"
    same "$PROGRAMS/deep.$mode" $how
    expected
  done
  begin "a fork in the middle of a deep recursion, $mode"
  same "$PROGRAMS/deep.$mode" fork
  for file in "$profile" "$profile".*; do
    check "calls of ${file##*/}" "$(calls recurse recurse "$file")" = 50000
  done
done

for mode in fentry mcountc cyg cygclang patchable; do
  begin "a signal in the deepest function, $mode"
  same "$PROGRAMS/deepest.$mode"
  expected
done

# Without hooks there are no counts, but the program must not notice either.
for program in jumps throws coroutines; do
  begin "$program without hooks"
  same "$PROGRAMS/$program.plain"
  verified "$profile"
done
for stack in below above inside main tiny; do
  begin "alternate stack $stack without hooks"
  same "$PROGRAMS/altstack.plain" $stack
  verified "$profile"
done
begin "endless recursion without hooks"
limits=(@stack=8388608)
same "$PROGRAMS/overflow.plain"
begin "endless recursion without hooks, caught"
limits=(@stack=8388608)
same "$PROGRAMS/overflow.plain" caught

begin "exceptions through frames that are based on rbp"
settings=(FBLEPROF_RATE=5000)
same "$PROGRAMS/throws_far.plain"
verified "$profile"
"$REPORT" --raw "$profile" | grep '^function .* kind=0 ' >"$dir/native" || fail "no native functions"
lacks_text ' module=0x0 ' "$dir/native" || fail "a word of the stack is not a function"
