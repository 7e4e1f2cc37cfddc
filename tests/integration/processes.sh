#!/bin/bash
# Programs that start other programs: every process keeps its own profile, and none is overwritten.
. "$(dirname "$0")/lib.sh"

# total CALLEE: its calls in all profiles of this case. All at once: the report of one file may
# follow a chain of execs to others.
total() {
  local files
  mapfile -t files < <(profiles_in "$dir")
  "$REPORT" --edges --format csv "${files[@]}" 2>/dev/null | awk -F, -v callee="$1" '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    $column["callee"] == callee { sum += $column["calls"] }
    END { print sum + 0 }'
}
all_verified() {
  local file
  while read -r file; do verified "$file"; done < <(profiles_in "$dir")
}

for mode in plain fentry; do
  for how in thread coroutine; do
    begin "a fork on the smallest stack, $how $mode"
    same "$PROGRAMS/small_stacks.$mode" "$how"
    all_verified
    check "one profile a process" "$(profiles_in "$dir" | wc -l)" = 2
  done
done

begin "a context that goes on, 2000 blocks deep, in a thread with the smallest stack"
same "$PROGRAMS/small_stacks.plain" moved
verified "$profile"
check "its calls are below all blocks" \
  "$("$REPORT" --path block_1998,block_1999,moved --format csv "$profile" | grep -c '^step,moved,1,')" = 1

for mode in fentry cyg; do
  begin "fork $mode"
  same "$PROGRAMS/processes.$mode" fork
  expected
  all_verified
  check "one profile a process" "$(profiles_in "$dir" | wc -l)" = 12
  check "children's calls" "$(total child_work)" = 10000
  check "grandchild's calls" "$(total grandchild_work)" = 500

  begin "vfork $mode"
  same "$PROGRAMS/processes.$mode" vfork
  expected
  all_verified

  begin "children of vfork that a signal ends, $mode"
  same "$PROGRAMS/processes.$mode" vfork-dies
  expected
  all_verified
  # Each one made the next sample charge all that the process had used.
  check "time is charged once" "$(fact cpu_ns)" -le $(($(fact process_cpu_ns) * 12 / 10))

  for how in spawn system; do
    begin "$how $mode"
    same "$PROGRAMS/processes.$mode" $how
    expected
    all_verified
  done
  begin "popen $mode"
  same "$PROGRAMS/processes.$mode" popen

  begin "exec chain $mode"
  same "$PROGRAMS/processes.$mode" execs 4
  all_verified
  check "one profile an image" "$(profiles_in "$dir" | wc -l)" = 5
  check "one report of all images" "$(calls '*' parent_work)" = 5010
  check "from the second one on" "$(calls '*' parent_work "$("$REPORT" --summary "$profile" |
    sed -n 's/^goes on in *//p')")" = 4006

  # Each profile but the last names the next one.
  file=$profile
  for _ in 1 2 3 4; do
    check "$file was replaced" "$(fact state "$file")" = replaced
    next=$("$REPORT" --summary "$file" | sed -n 's/^goes on in *//p')
    [ -e "$next" ] || { fail "$file does not say where it goes on"; break; }
    check "$next is of the same process" "$(fact pid "$next")" = "$(fact pid "$file")"
    file=$next
  done
  check "the last one ended" "$(fact state "$file")" = ended
  check "and goes on nowhere" "$("$REPORT" --summary "$file" | grep -c 'goes on')" = 0

  begin "exec from a thread $mode"
  same "$PROGRAMS/processes.$mode" thread-exec
  all_verified
  check "calls before exec" "$(total child_work)" = 100
  check "calls after exec" "$(calls '*' parent_work)" = 1000

  begin "exec that fails while threads start $mode"
  same "$PROGRAMS/processes.$mode" failed-execs
  all_verified
  # Threads of one tree run one after another in the same memory.
  check "trees of 204 threads" "$("$REPORT" --summary "$profile" | sed -n 's/^threads .* in \(.*\) trees$/\1/p')" -lt 20

  begin "daemon $mode"
  plain "$PROGRAMS/processes.$mode" daemon "$dir/plain/marker"
  profiled "$PROGRAMS/processes.$mode" daemon "$dir/profiled/marker"
  for _ in $(seq 100); do
    [ -s "$dir/profiled/marker" ] && [ -s "$dir/plain/marker" ] && break
    sleep 0.1
  done
  sleep 0.3  # its exit
  same_as_plain
  check "the daemon's descriptors" "$(cat "$dir/profiled/marker")" = "$(cat "$dir/plain/marker")"
  all_verified
  check "the daemon's calls" "$(total daemon_work)" = 5000
done

for mode in fentry plain; do
  begin "a child that cannot have a profile $mode"
  same "$PROGRAMS/processes.$mode" fork-refused
  check "its parent's is all there is" "$(profiles_in "$dir")" = "$profile"
  verified "$profile"
  [ $mode = plain ] || expected
  check "the child's threads are not in it" "$(fact threads)" = 1
  check "nor is its end" "$(fact state)" = killed
  check "it is counted" "$(fact lost_children)" = 1
done

for what in snapshot switch; do
  begin "a fork while another thread is in a $what"
  TIMEOUT=30 same "$PROGRAMS/fork_in_change.plain" $what
done

# Hooks lose some 6 % of these children, where they do not restart in the child.
for mode in fentry mcountc cyg cygclang; do
  begin "forks in a handler that interrupts hooks $mode"
  same "$PROGRAMS/fork_in_handler.$mode"
  verified "$profile"
  # shellcheck disable=SC2046  # no blanks in these names
  verified $(profiles_in "$dir" | tail -n 5)
done

begin "many children"
same "$PROGRAMS/processes.fentry" children 1100
check "profiles" "$(profiles_in "$dir" | wc -l)" = 1001
check "children without one" "$(fact lost_children)" = 100
# shellcheck disable=SC2046  # no blanks in these names
verified "$profile" $(profiles_in "$dir" | tail -n 5)

# Shells between us and the program
begin "bash -c"
# shellcheck disable=SC2016  # for the inner shell
same bash -c 'x=$(echo inner | tr a-z A-Z); echo $x; "$0" execs 0 | cat; exit 17' \
  "$PROGRAMS/processes.fentry"
all_verified
check "the program's calls" "$(total parent_work)" = 1000
begin "a cleared environment"
same env -i "$PROGRAMS/processes.fentry" execs 0
all_verified

begin "the last run's profile is kept"
profiled "$PROGRAMS/processes.fentry" spawn
cp "$profile" "$dir/first"
profiled "$PROGRAMS/processes.fentry" system
check "there is an .old" -e "$profile.old"
cmp -s "$dir/first" "$profile.old" || fail ".old is not the first run's profile"

begin "what the first program leaves running"
settings=(FBLEPROF_RUN="$(date +%s%N)")
# shellcheck disable=SC2016  # for the inner shell
profiled bash -c '(while kill -0 $$; do sleep 0.05; done; for i in 1 2 3; do "$0" execs 0; done) \
  >/dev/null 2>&1 &' "$PROGRAMS/processes.fentry"
for _ in $(seq 100); do
  [ "$(total parent_work)" = 3000 ] && break
  sleep 0.1
done
check "each has its profile" "$(total parent_work)" = 3000
check "that of the first is in place" "$(fact command | grep -c 'bash -c')" = 1
check "none is taken for the last run's" ! -e "$profile.old"

begin "the first rank of MPI"
settings=(OMPI_COMM_WORLD_RANK=0)
profiled "$PROGRAMS/processes.fentry" spawn
"$REPORT" --by rank "$profile" | has_text mpi_rank=0 || fail "it is not in --by rank"

begin "names with places"
settings=(FBLEPROF_OUT="$dir/%e-%p-%h.prof")
profiled "$PROGRAMS/processes.fentry" execs 0
found=$(find "$dir" -maxdepth 1 -name "processes.fentry-[0-9]*-$(hostname).prof")
check "one such file ($(ls "$dir"))" "$(wc -l <<<"$found")" = 1
verified "$found"

begin "a profile that is being written is left alone"
profiled "$PROGRAMS/endings.fentry" return
(
  cd "$dir" || exit 1
  env LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" "$PROGRAMS/endings.fentry" wait >"$dir/waiting" &
  echo $! >"$dir/pid"
  wait $! 2>/dev/null
) &
for _ in $(seq 100); do
  grep -qs waiting "$dir/waiting" && break
  sleep 0.1
done
check "a live program's profile says so" "$(fact state)" = live
check "and is complete" "$(calls all_work counted)" = 12345
profiled "$PROGRAMS/endings.fentry" return
check "a second run writes elsewhere" "$(profiles_in "$dir" | wc -l)" -ge 2
kill -KILL "$(cat "$dir/pid")"
wait
verified "$profile"
check "the first one's profile is still its own" "$(fact pid)" = "$(cat "$dir/pid")"
check "and says that it was killed" "$(fact state)" = killed

begin "settings hold in children"
settings=(FBLEPROF_RATE=300 FBLEPROF_COMPACT=none)
same "$PROGRAMS/processes.fentry" fork
while read -r file; do
  check "rate and rule of $file" "$(fact rate_asked_hz "$file") $(fact compaction "$file")" = "300 none"
done < <(profiles_in "$dir")

# of_child: the profile of the only child.
of_child() { profiles_in "$dir" | grep -v 'mlmon\.out$'; }

for mode in fentry cyg plain; do
  for way in beside "beside grew" inside; do
    begin "a child goes on in a context of its parent's, $way, $mode"
    # shellcheck disable=SC2086  # two arguments
    same "$PROGRAMS/forked_contexts.$mode" $way
    verified "$profile" "$(of_child)"
    for function in second third; do
      check "$function has its time" "$(dominated $function "$(of_child)" | cut -d. -f1)" -ge 20
    done
    check "other is no caller" "$(dominated other "$(of_child)" | cut -d. -f1)" -le 55
    [ "$way" = inside ] || continue
    check "the child has the fiber's functions" "$(dominated inner "$(of_child)" | cut -d. -f1)" -ge 45
  done
done
