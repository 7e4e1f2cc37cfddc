#!/bin/bash
# Under resource limits, in sandboxes and as other users, the program runs as without us.
. "$(dirname "$0")/lib.sh"
program=$PROGRAMS/endings.fentry

for megabytes in 16 40 64 200 1000; do
  begin "address space of $megabytes MB"
  limits=(@as=$((megabytes << 20)))
  same "$program" return
done
begin "address space that the program needs"
limits=(@as=$((300 << 20)))
same "$program" fill 200
expected
for mode in fentry plain; do
  begin "address space of eight threads, $mode"
  plain "$PROGRAMS/reserved.$mode"
  profiled "$PROGRAMS/reserved.$mode"
  mine=$(sed -n 's/^reserved //p' "$dir/profiled.out")
  check "it is little beside the file's 256 MB: $mine KB" \
    $((mine - $(sed -n 's/^reserved //p' "$dir/plain.out"))) -le $(((256 + 24) << 10))
  begin "limited address space of eight threads, $mode"
  limits=(@as=$((400 << 20)))
  same "$PROGRAMS/reserved.$mode" quiet
  verified "$profile"
done
for mode in fentry plain; do
  begin "a limit of data, $mode"
  limits=(@data=$((100 << 20)))
  same "$PROGRAMS/reserved.$mode" quiet
  verified "$profile"
done
begin "a limit of data, 200 threads"
limits=(@data=2000000000 @stack=8388608)
same "$PROGRAMS/threads.fentry" many
expected
begin "hardly any descriptors"
limits=(@nofile=4)
same "$program" return
begin "hardly any descriptors, threads"
limits=(@nofile=8)
same "$PROGRAMS/threads.fentry" many
begin "no pending signals"
limits=(@sigpending=0)
same "$program" return
expected
begin "no pending signals, and no events"
perf_event_open=298 EPERM=1
limits=(@sigpending=0)
run profiled -- "$PROGRAMS/refusing.plain" $perf_event_open=$EPERM -- \
  env LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" "$PROGRAMS/phases.plain" 0.2
"$REPORT" --summary "$profile" | has_text "threads are not sampled: .*(ulimit -i)" || fail "nothing is said"
begin "no pending signals, threads"
limits=(@sigpending=4)
same "$PROGRAMS/threads.fentry" many
expected
for mode in fentry cyg plain; do
  for how in errno kill "errno raw" "kill fork"; do
    begin "seccomp $how $mode"
    # shellcheck disable=SC2086  # words
    same "$PROGRAMS/sandbox.$mode" $how
    verified "$profile"
    check "time before it" "$(fact samples)" -ge 5
    [ $mode = plain ] || expected
  done
done

begin "seccomp, with waits"
settings=("LD_PRELOAD=$(dirname "$LIB")/libfbleprof_wait.so:$LIB" FBLEPROF_WAITS=1)
same "$PROGRAMS/sandbox.fentry" kill pipes
verified "$profile"
expected

for mode in fentry plain; do
  for verdict in errno kill; do
    for how in fault abort signal actions own-signal handler-later blocked-elsewhere \
      blocked-elsewhere-later wait-for-signal thread thread-with-mask timer-thread ends close descriptor fiber \
      signal-stack unload api vfork; do
      begin "confined, $verdict: $how $mode"
      [ $how != close ] || settings=("LD_PRELOAD=$(dirname "$LIB")/libfbleprof_wait.so:$LIB" FBLEPROF_WAITS=1)
      same timeout 20 "$PROGRAMS/confined.$mode" $verdict $how
      check "it was confined" "$(head -n 1 "$dir/plain.out")" = confined
      verified "$profile"
    done
  done
done
for mode in fentry plain; do
  for how in dispatch dispatch-by-number; do
    begin "system calls that the kernel sends to the program: $how $mode"
    same "$PROGRAMS/confined.$mode" kill $how
    verified "$profile"
    check "time before it" "$(fact samples)" -ge 1
  done
  begin "confined, then another program: the mask of signals, $mode"
  same "$PROGRAMS/confined.$mode" errno mask
  # To let the default action happen takes a call that is forbidden.
  begin "confined: SIGPROF ends it, $mode"
  profiled timeout 20 "$PROGRAMS/confined.$mode" errno profiling-signal
  check "as shells show it" "$(cat "$dir/profiled.status")" = "exit $((128 + 27))"
  begin "confined: a child that nobody notices does not end the profile, $mode"
  same timeout 20 "$PROGRAMS/confined.$mode" kill unnoticed-child
  check "it was killed" "$(fact state)" = killed
  begin "confined: a library's destructor forks, $mode"
  same timeout 20 "$PROGRAMS/confined.$mode" kill unload-forking "$PROGRAMS/forking_plugin.plain"
  verified "$profile"
  begin "a filter that the kernel refuses, $mode"
  same "$PROGRAMS/confined.$mode" errno refused
  verified "$profile"
  check "recording goes on" "$("$REPORT" "$profile" 2>&1 | grep -c "confined itself")" = 0
done
begin "confined, as the first process of its namespace"
settings=(FBLEPROF_EXACT=on FBLEPROF_EXACT_TOOL="$FBLE_PROF")
same timeout 20 "$PROGRAMS/confined.plain" errno first-process
begin "confined, and counted: a fault in code that was moved"
settings=(FBLEPROF_EXACT=on FBLEPROF_EXACT_TOOL="$FBLE_PROF")
same timeout 20 "$PROGRAMS/confined.plain" errno fault
verified "$profile"

# A set-user-id program that is linked with the library itself: LD_PRELOAD has no effect on one.
begin "set-user-id"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 711 "$work" "$dir"
  mkdir "$dir/out"
  chmod 777 "$dir/out"
  cp "$LIB" "$dir/libfbleprof.so"
  echo 'int main(void) { return 12; }' >"$dir/main.c"
  gcc "$dir/main.c" -o "$dir/privileged" -Wl,--no-as-needed "$dir/libfbleprof.so" \
    -Wl,-rpath,"$dir" || fail "cannot link with the library"
  chmod 4755 "$dir/privileged"
  (cd "$dir/out" && FBLEPROF_OUT="$dir/out/mlmon.out" FBLEPROF_VERBOSE=1 \
    setpriv --reuid nobody --regid nogroup --clear-groups "$dir/privileged" 2>"$dir/err")
  check "it runs" $? = 12
  check "nothing is written" -z "$(ls "$dir/out")"
  chmod 755 "$dir/privileged"
  (cd "$dir/out" && FBLEPROF_OUT="$dir/out/mlmon.out" \
    setpriv --reuid nobody --regid nogroup --clear-groups "$dir/privileged")
  check "without the bit there is a profile" -s "$dir/out/mlmon.out"
  rm -f "$dir/out/mlmon.out"*
  if setcap cap_net_raw+ep "$dir/privileged" 2>/dev/null; then
    (cd "$dir/out" && FBLEPROF_OUT="$dir/out/mlmon.out" FBLEPROF_VERBOSE=1 \
      setpriv --reuid nobody --regid nogroup --clear-groups "$dir/privileged" 2>"$dir/err")
    check "it runs with file capabilities" $? = 12
    check "nothing is written then" -z "$(ls "$dir/out")"
  else
    skip "no setcap, or a file system without capabilities"
  fi
else
  skip "needs root"
fi

begin "another user"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 711 "$work"
  chmod 777 "$dir" "$dir/plain" "$dir/profiled"
  cp "$program" "$LIB" "$dir"
  # The tools may be in directories that this user cannot read, so only the program runs as that
  # user.
  plain setpriv --reuid nobody --regid nogroup --clear-groups "$dir/${program##*/}" return
  run profiled -- setpriv --reuid nobody --regid nogroup --clear-groups \
    env LD_PRELOAD="$dir/${LIB##*/}" FBLEPROF_OUT="$profile" "$dir/${program##*/}" return
  same_as_plain
  check "the profile is theirs" "$(stat -c %U "$profile" 2>&1)" = nobody
  expected
else
  skip "needs root"
fi

# Timers, where task-clock events are forbidden: the fallback gives the same tree.
begin "statically linked programs are left alone"
echo 'int main(void) { return 11; }' >"$dir/static.c"
if gcc -static "$dir/static.c" -o "$dir/static" 2>/dev/null; then
  same "$dir/static"
else
  skip "no static libc"
fi
