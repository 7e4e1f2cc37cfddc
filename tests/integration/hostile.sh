#!/bin/bash
# Programs that do unusual things: they see nothing of the profiler, and it loses nothing of theirs.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

# recorded HOW: sampled, exact, allocations or waits, in this case.
recorded() {
  case $1 in
    exact) settings=(FBLEPROF_EXACT=program FBLEPROF_EXACT_PLANS="$work" FBLEPROF_EXACT_TOOL="$FBLE_PROF") ;;
    allocations) settings=(FBLEPROF_ALLOCS=exact LD_PRELOAD="$LIB:$(dirname "$LIB")/libfbleprof_alloc.so") ;;
    waits) settings=(FBLEPROF_WAITS=1 LD_PRELOAD="$LIB:$(dirname "$LIB")/libfbleprof_wait.so") ;;
  esac
}

for mode in plain fentry; do
  for part in signals processes threads descriptors system; do
    begin "calls with arguments at the edge of what they take, $part, $mode"
    same "$PROGRAMS/edge_calls.$mode" $part
    check "it ran to its end" "$(tail -n 1 "$dir/plain.out")" = "done"
    verified "$profile"
  done
done

# Calls by number (x86-64): see refusing.c. 13: rt_sigaction, 14: rt_sigprocmask, 128: rt_sigtimedwait.
begin "the kernel refuses signal actions, masks and waits"
same "$PROGRAMS/refusing.plain" 13=1 14=1 128=1 -- "$PROGRAMS/edge_calls.plain" refused
check "it ran to its end" "$(tail -n 1 "$dir/plain.out")" = "done"

# Our handler must not wait for a lock of the thread that it interrupted.
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

begin "threads under a limit of address space"
limits=(@as=400000000)
same "$PROGRAMS/crowded.plain" 8
verified "$profile"

# The program's own actions for fatal signals: the program receives them and ends by them as without
# us, and the file is complete however it ends.
for mode in fentry plain; do
  for how in queries masks reraise once new-default usr1 realtime trap; do
    begin "own signals: $how $mode"
    same "$PROGRAMS/own_signals.$mode" $how
    verified "$profile"
    check "the file ends where the profile does" "$(stat -c %s "$profile")" -lt 10000000
    check "it is not taken for killed" "$(fact state)" != killed
  done
done
begin "own signals, where nothing is sampled"
settings=(FBLEPROF_CLOCK=ticks)
same "$PROGRAMS/own_signals.fentry" queries
begin "samples after masks and actions set in old ways"
profiled "$PROGRAMS/own_signals.fentry" masks
check "there are samples" "$(fact samples)" -gt 10

begin "a truncated profile of a program that handles SIGBUS"
: >"$dir/plain/file"
plain "$PROGRAMS/own_signals.fentry" bus "$dir/plain/file"
profiled "$PROGRAMS/own_signals.fentry" bus "$profile"
same_as_plain

# In the child the loader still lists a library that it was about to forget, without its memory.
begin "forks while libraries are unloaded"
same "$PROGRAMS/fork_unloading.plain" "$plugin"
begin "libraries that fork while they are unloaded, and children without profiles"
settings=(FBLEPROF_CHILDREN=none)
same timeout 60 "$PROGRAMS/fork_unloading.plain" "$plugin" "$PROGRAMS/forking_plugin.plain"

for kind in sampled exact allocations waits; do
  for how in clone syscall clone3 instruction timer destructor; do
    case $kind-$how in
      sampled-* | *-clone | *-instruction | *-timer) ;;
      *) continue ;;
    esac
    begin "a child made by $how, $kind"
    recorded $kind
    same "$PROGRAMS/odd_forks.plain" $how
    check "one profile a process" "$(profiles_in "$dir" | wc -l)" = 2
    while read -r file; do
      verified "$file"
      near "CPU time of $file" "$(fact cpu_ns "$file")" 250000000 100000000
    done < <(profiles_in "$dir")
    [ $kind != exact ] || check "the parent's calls" "$(calls '*' compute)" = 3
  done
done

# The search reads all memory: each page beyond the end of the file would raise a signal.
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

# Their libc is not ready when our constructor runs.
sources=$SOURCE/tests/programs
for kind in "gcc thread -static-libtsan" "gcc address -static-libasan" "clang-14 thread" "clang-14 address"; do
  read -r compiler sanitizer flag <<<"$kind"
  begin "static sanitizer: $kind"
  # shellcheck disable=SC2086  # no flag at all
  if $compiler -g -O1 -fsanitize="$sanitizer" $flag "$sources/sanitized.c" -o "$dir/sanitized" \
    -pthread 2>/dev/null; then
    same "$dir/sanitized"
    verified "$profile"
  else
    skip "no such sanitizer"
  fi
done

begin "a program that locks its directory"
(cd "$dir/plain" && "$PROGRAMS/lock_holder.plain") >"$dir/plain.out"
(cd "$dir/profiled" && LD_PRELOAD=$LIB "$PROGRAMS/lock_holder.plain") >"$dir/profiled.out"
check "its lock is refused as often" "$(cat "$dir/plain.out")" = "$(cat "$dir/profiled.out")"

begin "another file in the place of .old"
echo precious >"$profile.old"
profiled "$PROGRAMS/endings.fentry" return
settings=(FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/endings.fentry" return
check "it is left alone" "$(cat "$profile.old")" = precious
has_text "not a profile" "$dir/profiled.err" || fail "the reason is not told"

begin "another file in the place of the first process's profile"
cat >"$dir/replaces.c" <<'END'
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char** argv) {
  static char zeros[8192];
  if (argc < 2) return 1;
  unlink(argv[1]);
  const int fd = open(argv[1], O_WRONLY | O_CREAT, 0600);
  if (write(fd, zeros, sizeof zeros) < 0) return 1;
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) {
      for (volatile long x = 0; x < 20000000; ++x) continue;
      _exit(0);
    }
  }
  while (wait(0) > 0) continue;
  return 0;
}
END
gcc -O1 "$dir/replaces.c" -o "$dir/replaces" || fail "cannot build"
profiled "$dir/replaces" "$profile"
cmp -s "$profile" <(head -c 8192 /dev/zero) || fail "it was written to"

begin "killed in another pid namespace"
if unshare -pf true 2>/dev/null; then
  # From outside: the first process of a namespace cannot kill itself.
  for _ in 1 2 3; do
    unshare -pf env LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" sleep 60 2>"$dir/err" &
    for _ in $(seq 200); do
      pid=$(pgrep -P $! -x sleep) && grep -qs "$profile" "/proc/$pid/maps" && break
      sleep 0.05
    done
    kill -KILL "$pid"
    wait $!
    check "its profile makes way" "$(profiles_in "$dir" | grep -cv '\.old')" = 1
    check "it is this one's" "$(fact command)" = "sleep 60"
    # Another namespace's process may still run for all that we can know.
    check "it has no recorded end" "$(fact state)" = unknown
  done
  verified "$profile" "$profile.old"
  unshare -pf env LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" sleep 3 &
  sleep 1
  profiled "$PROGRAMS/endings.fentry" return
  check "a live one does not" "$(profiles_in "$dir" | grep -cv '\.old')" = 2
  wait
else
  skip "no namespaces"
fi

for kind in sampled exact allocations waits; do
  for how in fork _Fork clone syscall; do
    [ $how = fork ] || [ $kind = sampled ] || continue
    begin "forks by $how while threads start, $kind"
    recorded $kind
    same "$PROGRAMS/fork_descriptors.plain" $how
    verified "$profile"
    [ $kind != exact ] || check "calls are counted" "$(calls '*' nothing)" -gt 10
  done
done

for mode in fentry mcountc cyg; do
  begin "fibers that change threads, on stacks of changing size $mode"
  same "$PROGRAMS/migration.$mode"
  expected
done

for mode in fentry cyg patchable; do
  begin "the dynamic linker's lock is held during samples, hooks and forks $mode"
  same "$PROGRAMS/loading.$mode" lock "$PROGRAMS/first.plain"
  expected
  begin "threads that are moved between processors $mode"
  same "$PROGRAMS/unusual.$mode" affinity
  expected
done
for mode in fentry plain; do
  begin "a plugin that finds libc before what is preloaded $mode"
  same "$PROGRAMS/loading.$mode" deepbind "$PROGRAMS/deep_plugin.$mode"
  verified "$profile"
done
begin "a plugin that only RUNPATH finds"
same "$PROGRAMS/loading.fentry" runpath
check "it runs" "$(calls main run_plugin)" = 1
begin "plugins that exhaust static TLS"
same "$PROGRAMS/loading.fentry" static-tls "$PROGRAMS/static_tls.plain"
check "some had room, and one had not" "$(grep -c 'static TLS' "$dir/profiled.out")" = 1
check "threads are recorded then, too" "$(calls go_on counted)" = 1000
begin "confined by Landlock"
plain "$PROGRAMS/unusual.fentry" landlock
if [ "$(cat "$dir/plain.status")" = 'exit 77' ]; then
  skip "there is no Landlock"
else
  profiled "$PROGRAMS/unusual.fentry" landlock
  same_as_plain
  verified "$profile"
  check "calls are counted then, too" "$(calls burn counted)" = 200
  check "the child without a profile is counted" "$(fact lost_children)" = 1
fi

group=/sys/fs/cgroup/memory/fbleprof.$$
begin "more memory than a control group allows"
if mkdir $group 2>/dev/null && echo 60M >$group/memory.limit_in_bytes; then
  # shellcheck disable=SC2016  # the inner shell's
  same bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2" memory' - "$group" "$PROGRAMS/unusual.fentry"
  check "the kernel ends it" "$(cat "$dir/profiled.status")" = 'signal 9'
  verified "$profile"
  check "what it did before is there" "$(calls burn counted)" -ge 1000
  for _ in $(seq 50); do
    if rmdir $group 2>/dev/null; then break; fi
    sleep 0.1
  done
else
  skip "needs root and control groups of version 1"
fi

if [ "$(id -u)" = 0 ]; then
  begin "all memory is locked in core"
  same "$PROGRAMS/locked.plain"
  verified "$profile"
  # The least limit in kB under which it can lock its memory without us, and a little for ours.
  begin "all memory is locked in core, under a limit"
  least=0 limit=$(ulimit -H -l)
  [ "$limit" != unlimited ] || limit=65536
  can_lock() { "$PROGRAMS/locked.plain" $(($1 << 10)) 2>/dev/null | grep -q "mlockall: done"; }
  if can_lock "$limit"; then
    while [ $((limit - least)) -gt 4 ]; do
      middle=$(((least + limit) / 2))
      if can_lock $middle; then limit=$middle; else least=$middle; fi
    done
    for how in sampled exact allocations waits; do
      begin "all memory is locked in core, under a limit: $how"
      recorded $how
      same "$PROGRAMS/locked.plain" $(((limit + 128) << 10))
      check "it can" "$(grep -c "mlockall: done" "$dir/profiled.out")" = 1
    done
  else
    skip "it needs a higher limit"
  fi
  begin "more memory than the limit is to be locked"
  same "$PROGRAMS/locked.plain" 65536
fi
