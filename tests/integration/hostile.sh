#!/bin/bash
# Programs that do what few do: nothing of the profiler shows in them, and nothing of theirs is lost.
. "$(dirname "$0")/lib.sh"

# A handler of ours must not wait for what the thread that it interrupted holds.
begin "a fatal signal while libraries are unloaded"
plugin=$PROGRAMS/first.fentry
hangs=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
  rm -f "$dir/ready"
  env LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" "$PROGRAMS/unloading.plain" "$plugin" 100 \
    >"$dir/ready" 2>&1 &
  pid=$!
  for _ in $(seq 100); do
    grep -qs ready "$dir/ready" && break
    sleep 0.02
  done
  sleep "0.0$((round * 7 % 100))"
  kill -TERM $pid
  for _ in $(seq 100); do
    kill -0 $pid 2>/dev/null || break
    sleep 0.02
  done
  kill -KILL $pid 2>/dev/null && hangs=$((hangs + 1))
  wait $pid 2>/dev/null
done
check "runs that hung" $hangs = 0
verified "$profile"

# A process may have 65,530 mappings, and its threads' stacks take two each.
begin "15,000 threads at once"
if [ "$(cat /proc/sys/kernel/pid_max)" -ge 32768 ]; then
  same "$PROGRAMS/crowded.plain" 15000
  verified "$profile"
else
  skip "too few process numbers"
fi

begin "threads under a limit of address space"
limits=(@as=400000000)
same "$PROGRAMS/crowded.plain" 8
verified "$profile"

# The program's own actions for fatal signals: it is told of them and ends by them as without us,
# and the file is cut however it ends.
for mode in fentry plain; do
  for how in queries masks reraise once usr1 realtime trap; do
    begin "own signals: $how $mode"
    same "$PROGRAMS/own_signals.$mode" $how
    verified "$profile"
    check "the file ends where the profile does" "$(stat -c %s "$profile")" -lt 10000000
    check "it is not taken for killed" "$(fact state)" != killed
  done
done
begin "samples after masks and actions set in old ways"
profiled "$PROGRAMS/own_signals.fentry" masks
check "there are samples" "$(fact samples)" -gt 10

begin "a truncated profile of a program that handles SIGBUS"
: >"$dir/plain/file"
plain "$PROGRAMS/own_signals.fentry" bus "$dir/plain/file"
profiled "$PROGRAMS/own_signals.fentry" bus "$profile"
same_as_plain

for how in clone syscall timer destructor; do
  begin "a child made by $how"
  same "$PROGRAMS/odd_forks.plain" $how
  check "one profile a process" "$(profiles_in "$dir" | wc -l)" = 2
  while read -r file; do
    verified "$file"
    near "CPU time of $file" "$(fact cpu_ns "$file")" 250000000 100000000
  done < <(profiles_in "$dir")
done

# The search reads all memory: each page behind the end of the file would be a signal.
begin "valgrind's search for leaks"
if command -v valgrind >/dev/null; then
  start=$SECONDS
  LD_PRELOAD=$LIB FBLEPROF_OUT=$profile timeout 60 valgrind --leak-check=full \
    --error-exitcode=9 "$PROGRAMS/leaks.plain" >/dev/null 2>"$dir/leaks.err"
  check "valgrind finds the leak" $? = 9
  check "it takes seconds" $((SECONDS - start)) -lt 20
else
  skip "no valgrind"
fi
