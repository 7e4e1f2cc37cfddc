#!/bin/bash
# Signals, masks, interrupted calls and registers are the same for the program as without the
# profiler.
. "$(dirname "$0")/lib.sh"

for rate in 1000 10000; do
  for mode in fentry plain; do
    begin "no call is interrupted, $mode at $rate Hz"
    settings=(FBLEPROF_RATE="$rate")
    same "$PROGRAMS/eintr.$mode"
    verified "$profile"
  done
done

for clock in cpu wall; do
  begin "the program's alarm ends its calls, clock $clock"
  settings=(FBLEPROF_CLOCK="$clock")
  # On a busy machine an alarm may come before its call. Only the program alone may try again.
  for ((i = 0; i < 5; ++i)); do
    plain "$PROGRAMS/interrupted_calls.plain"
    [ "$(grep -c "late 0, other 0" "$dir/plain.out")" = 4 ] && break
  done
  profiled "$PROGRAMS/interrupted_calls.plain"
  same_as_plain
  check "no alarm came too late" "$(grep -c "late 0, other 0" "$dir/plain.out")" = 4
done

begin "setting actions takes its time in libc"
same "$PROGRAMS/sigactions.plain"
verified "$profile"
check "percent of its CPU time that are the recorder's" "$(($(fact overhead_ns) * 100 / $(fact cpu_ns)))" -le 80
check "percent of the rest in libc" "$("$REPORT" --by module --format csv "$profile" | awk -F, '/libc/ { print int($2 * 100 / $3) }')" -ge 50
check "no frames of the recorder" "$("$REPORT" --all "$profile" | grep -c set_handler)" = 0

begin "a program that has a __sigaction of its own"
same "$PROGRAMS/sigactions.plain" own

# With one library more, a sample that runs over the end of a piece meets no other piece.
for rate in 1000 20000; do
  for waits in off 1; do
    begin "stacks that grow by pieces, at $rate Hz, waits $waits"
    settings=(FBLEPROF_RATE="$rate" FBLEPROF_WAITS="$waits"
      LD_PRELOAD="${LIB%.so}_wait.so:$LIB:$PROGRAMS/witness.plain")
    for _ in 1 2 3; do same "$PROGRAMS/split_stacks.plain"; done
    verified "$profile"
    check "samples" "$(fact samples)" -gt 10
  done
done

for mode in fentry mcountc cyg cygclang plain; do
  begin "registers $mode"
  settings=(FBLEPROF_RATE=10000)
  same "$PROGRAMS/registers.$mode"
  verified "$profile"
done

for mode in fentry plain; do
  for how in start ignored default blocked full sigwait signalfd timer sigset one-set fork-pending reset exec exec-blocked \
    exec-pending; do
    begin "SIGPROF $how $mode"
    same "$PROGRAMS/sigprof.$mode" "$how"
    verified "$profile"
    # The calls are counted whatever happens to the signal. After exec the profile is another one.
    case $mode-$how in
      fentry-exec*) ;;
      fentry-*) expected ;;
    esac
  done
done

for mode in fentry plain; do
  begin "addresses that are no memory, $mode"
  same "$PROGRAMS/bad_addresses.$mode"
  verified "$profile"
  check "the calls failed" "$(grep -c "Bad address" "$dir/plain.out")" -gt 30
done

for mode in fentry plain; do
  begin "what dies of SIGPROF ends like any other, $mode"
  same "$PROGRAMS/sigprof.$mode" default
  verified "$profile"
  check "the file is cut" "$(stat -c %s "$profile")" -le 262144
  check "the report says so" "$(fact state)" = fatal
done

# Samples arrive although the program blocks or ignores SIGPROF.
for how in ignored blocked full sigwait; do
  begin "samples while SIGPROF is $how"
  profiled "$PROGRAMS/sigprof.fentry" "$how"
  check "there are samples" "$(fact samples)" -gt 10
done

# The handler reads the clock, which uses a counter that a program can forbid itself to read.
for mode in fentry plain; do
  for how in "" raw; do
    begin "no time-stamp counter $mode $how"
    # shellcheck disable=SC2086  # no argument at all
    same "$PROGRAMS/no_counter.$mode" $how
    verified "$profile"
    [ "$mode" = plain ] || expected
    check "there are samples" "$(fact samples)" -gt 10
  done
done
