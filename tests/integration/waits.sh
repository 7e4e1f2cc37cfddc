#!/bin/bash
# Waits by context: kinds, ends, forks, live readers.
. "$(dirname "$0")/lib.sh"
wrappers=$(dirname "$LIB")/libfbleprof_wait.so
recording=("LD_PRELOAD=$wrappers:$LIB" FBLEPROF_WAITS=1)

# total METRIC [FILE]: the whole profile's total.
total() {
  "$REPORT" --metrics --format csv "${2:-$profile}" | awk -F, -v name="$1" '$1 == name { print $4 }'
}
# paths [FILE [METRIC]]: "a;b;c NS" of each context that waited.
paths() { "$REPORT" --export folded --metric "${2:-wait}" -o - "${1:-$profile}"; }
# waited FUNCTION [FILE [METRIC]]: its inclusive wait, in ms.
waited() {
  paths "${2:-$profile}" "${3:-wait}" |
    awk -v name=";$1;" '{ ns = $NF; sub(/ [0-9]*$/, ";"); if (index(";" $0, name)) sum += ns }
      END { printf "%d", sum / 1000000 }'
}

# waited_for WHAT FUNCTION MS: at least so long; else all paths are shown.
waited_for() {
  local ms
  ms=$(waited "$2")
  check "$1" "$ms" -ge "$3"
  [ "$ms" -ge "$3" ] || paths >&2
}

for mode in fentry cyg plain; do
  begin "each kind of wait is charged to its context, $mode"
  settings=("${recording[@]}")
  profiled "$PROGRAMS/waits.$mode" split
  check "no call returned early" "$(cat "$dir/profiled.out")" = "early 0, interrupted 0"
  verified "$profile"
  paths | python3 "$here/waits.py" "$dir/profiled.err" || fail "waits are in other contexts"
  check "no frame of ours" "$(paths | grep -c fbleprof)" = 0
  check "bytes" "$(total bytes-read)" -gt 1000
done

for program in each_call each_call_checked; do
  begin "each call gets its arguments, and returns what it returns without a wrapper, $program"
  settings=("${recording[@]}")
  printf 'yz 42\n' >"$dir/in"
  # shellcheck disable=SC2016  # for the inner shell
  same sh -c 'exec "$1" <"$2"' sh "$PROGRAMS/$program.plain" "$dir/in"
  check "all were made" "$(tail -n 1 "$dir/plain.out")" = "sleep(0): 0"
  verified "$profile"
done

for part in signals processes threads descriptors system; do
  begin "calls with arguments at the edge of what they take, $part"
  settings=("${recording[@]}")
  same "$PROGRAMS/edge_calls.plain" $part
  check "it ran to its end" "$(tail -n 1 "$dir/plain.out")" = "done"
  verified "$profile"
done

begin "calls that an older libc lacks fail as unknown system calls do"
lacking="read pread write pwrite pipe fcntl syscall nanosleep epoll_wait sem_wait pthread_mutex_unlock"
lacking+=" fputc fputs fprintf dprintf __dprintf_chk __isoc99_scanf"
lacking+=" vfprintf vdprintf __vdprintf_chk __isoc99_vscanf longjmp pthread_mutex_trylock pthread_rwlock_tryrdlock"
env LD_PRELOAD="$wrappers:$PROGRAMS/lacking.plain" LACKS="$lacking" "$PROGRAMS/lacking_calls.plain" >"$dir/lacking"
check "each of them" "$(grep -c -e '-1 ENOSYS$' "$dir/lacking")" = 20
check "locks need no try" "$(tail -n 2 "$dir/lacking" | grep -c ': 0 $')" = 2
check "no other line" "$(wc -l <"$dir/lacking")" = 25

begin "closefrom closes, although an older libc or kernel lacks it"
for refused in "" "436=38" "436=38 217=38"; do  # close_range, getdents64
  # shellcheck disable=SC2086
  env LD_PRELOAD="$wrappers:$PROGRAMS/lacking.plain" LACKS=closefrom \
    "$PROGRAMS/refusing.plain" $refused -- "$PROGRAMS/lacking_calls.plain" >"$dir/closed"
  check "from that number, refused: $refused" \
    "$(sed -n 's/^close(\(.*\)): /\1 /p' "$dir/closed" | tr -s '\n' ' ')" = "50 0 70 -1 EBADF 700 -1 EBADF "
done

begin "with the wall clock, the default is CPU time and waits"
profiled LD_PRELOAD="$wrappers:$LIB" FBLEPROF_CLOCK=wall "$PROGRAMS/waits.plain" workers
check "its name" "$("$REPORT" --metrics --format csv "$profile" | awk -F, '$5 == 1 { print $1 }')" = time
check "it is the sum" "$(total time)" = $(($(total cpu) + $(total wait)))
check "all workers wait to the end" "$(waited pthread_cond_wait)" -gt 500
check "for work" "$(waited '[idle]')" -gt 500
check "by module it is where the waiting call is" "$("$REPORT" --by module --metric wait --format csv "$profile" | grep -c 'no module')" = 0
check "which may be left out" "$("$REPORT" --busy --metric wait "$profile" | grep -c cond_wait)" = 0
check "others stay" "$("$REPORT" --busy --metric wait "$profile" | grep -c usleep)" = 1
check "the view" "$("$REPORT" --waits --format csv "$profile" | grep -c cond_wait)" = 1

begin "sleeps without descriptors and reads of files are not for work"
settings=("${recording[@]}")
profiled "$PROGRAMS/waits.plain" naps "$dir/file"
waited_for "sleeps in poll" poll 250
waited_for "sleeps in select" select 250
waited_for "sleeps in the system call" syscall 250
[ -s "$dir/profiled.out" ] || check "reads of the disk" "$(waited pread)" -gt 0
check "none is idle" "$(waited '[idle]')" = 0
verified "$profile"

begin "what libc's functions are called through is not in the tree"
settings=("${recording[@]}")
profiled "$PROGRAMS/threads.plain" short 20000
verified "$profile"
paths "$profile" cpu >"$dir/paths"
has_text ';main;.*pthread_create[; ]' "$dir/paths" || fail "no sample in a call: $(cat "$dir/paths")"
lacks_text 'pthread_create \[' "$dir/paths" || fail "a function stands below itself"

begin "calls that few programs make"
settings=("${recording[@]}")
same "$PROGRAMS/waits.plain" seldom
waited_for "a list of transfers" lio_listio 90
waited_for "a system call by its number" syscall 90
verified "$profile"

begin "off is off"
settings=(FBLEPROF_CLOCK=wall)
same "$PROGRAMS/waits.plain" workers
check "no metric" -z "$(total wait)"
"$REPORT" --busy --self --format csv "$profile" >"$dir/busy" 2>"$dir/busy.err" || fail "--busy fails"
"$REPORT" --self --format csv "$profile" | cmp - "$dir/busy" || fail "--busy left something out"
has_text 'no thread was idle' "$dir/busy.err" || fail "--busy does not say so"
settings=("LD_PRELOAD=$wrappers:$LIB" FBLEPROF_WAITS=off FBLEPROF_CLOCK=wall)
same "$PROGRAMS/waits.plain" workers
check "no metric, either" -z "$(total wait)"

for end in TERM KILL USR1; do
  begin "an idle server's wait is there while it lives, and after SIG$end"
  LD_PRELOAD="$wrappers:$LIB" FBLEPROF_WAITS=1 FBLEPROF_OUT="$profile" \
    "$PROGRAMS/waits.plain" idle "$dir/ready" >"$dir/out" &
  server=$!
  for ((i = 0; i < 100; ++i)); do [ -s "$dir/ready" ] && break; sleep 0.05; done
  sleep 0.3
  waited_for "while it lives" epoll_wait 250
  waited_for "it is idle" '[idle]' 250
  live=$(paths | grep epoll_wait | sed 's/ [0-9]*$//')
  verified "$profile"
  kill -"$end" $server
  wait $server 2>/dev/null
  verified "$profile"
  [ "$end" = KILL ] || {
    waited_for "at its end" epoll_wait 250
    check "the same path" "$(paths | grep epoll_wait | sed 's/ [0-9]*$//')" = "$live"
  }
done

begin "a forked child has its own waits"
settings=("${recording[@]}")
same "$PROGRAMS/waits.fentry" fork
verified "$profile"
waited_for "the parent's" waitpid 200
child=$(profiles_in "$(dirname "$profile")" | grep 'out\.[0-9]*$' | head -n 1)
verified "$child"
# Two waits of 100 ms, less the CPU time of the calls themselves.
check "the child's" "$(waited usleep "$child")" -ge 190
check "in its context" "$(paths "$child" | grep -c 'child_waits;usleep')" = 1

begin "cancelled threads, and calls left by siglongjmp"
settings=("${recording[@]}")
same "$PROGRAMS/waits.fentry" cancel
verified "$profile"
waited_for "what was left" read 300
waited_for "what came after" clock_nanosleep 99

begin "a wait that a handler leaves ends at once"
settings=("${recording[@]}")
same "$PROGRAMS/waits.plain" jumps
verified "$profile"
waited_for "the wait" leaves 290
check "what follows is unseen" $(($(total unseen) / 1000000)) -ge 290
waited_for "the fiber's" fiber_reads 40

begin "a plugin at the address of another has its own waits"
settings=("${recording[@]}")
same "$PROGRAMS/waits.plain" plugins "$PROGRAMS/waiting_first.plain" "$PROGRAMS/waiting_second.plain"
for plugin in first second; do
  waited_for "$plugin: five waits of 10 ms" "${plugin}_waits" 49
done

begin "functions of the program's that have names of libc's get their arguments"
settings=("${recording[@]}")
same "$PROGRAMS/own_names.plain"
waited_for "libc's are recorded" usleep 49
settings=("LD_PRELOAD=$wrappers")
same "$PROGRAMS/own_names.plain"

begin "bytes of streams, with the size of the buffer and without"
cat >"$dir/copies.c" <<'C'
#include <stdio.h>
int main(int argc, char** argv) {
  static char buffer[100000];
  FILE *from = fopen(argv[1], "r"), *to = fopen(argv[2], "w");
  unsigned long bytes, i = 0;
  if (argc != 3 || from == NULL || to == NULL) return 1;
  while ((bytes = fread(buffer, 1, ++i % 5 == 0 ? sizeof buffer : 100, from)) > 0)
    fwrite(buffer, 1, bytes, to);
  return fclose(to);
}
C
gcc "$dir/copies.c" -o "$dir/copies" || fail "no program"
head -c 3000000 /dev/zero >"$dir/zeros"
settings=("${recording[@]}")
same "$dir/copies" "$dir/zeros" "$dir/zeros.copy"
verified "$profile"
cmp "$dir/zeros" "$dir/zeros.copy" || fail "another copy"
check "all that was read" "$(total bytes-read)" = 3000000
check "what was written before fclose" "$(total bytes-written)" -ge $((3000000 - 8192))
check "and no more" "$(total bytes-written)" -le 3000000

begin "lines of a stream, with the size of the buffer and without"
cat >"$dir/lines.c" <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>
char* __fgets_chk(char* to, size_t room, int most, FILE* stream);
char* __fgets_unlocked_chk(char* to, size_t room, int most, FILE* stream);
int main(void) {
  int ends[2];
  char line[8] = "", *to = NULL;
  if (pipe(ends) != 0) return 1;
  if (fork() == 0) {
    for (int i = 0; i < 4; ++i) {
      usleep(20000);
      if (write(ends[1], "line\n", 5) != 5) return 1;
    }
    return 0;
  }
  FILE* stream = fdopen(ends[0], "r");
  for (int i = 0; i < 4; ++i) {
    if (i == 0) to = fgets(line, sizeof line, stream);
    if (i == 1) to = fgets_unlocked(line, sizeof line, stream);
    if (i == 2) to = __fgets_chk(line, sizeof line, sizeof line, stream);
    if (i == 3) to = __fgets_unlocked_chk(line, sizeof line, sizeof line, stream);
    if (to != NULL) fputs(line, stdout);
  }
  return 0;
}
C
gcc "$dir/lines.c" -o "$dir/lines" || fail "no program"
settings=("${recording[@]}")
same "$dir/lines"
for call in fgets fgets_unlocked __fgets_chk __fgets_unlocked_chk; do
  waited_for "it waited in $call" $call 5
done

begin "functions of a preloaded library are called as without"
LD_PRELOAD=$PROGRAMS/replacing_calls.plain "$PROGRAMS/replaced_calls.plain" >"$dir/plain.out"
settings=("LD_PRELOAD=$wrappers:$LIB:$PROGRAMS/replacing_calls.plain" FBLEPROF_WAITS=1)
profiled "$PROGRAMS/replaced_calls.plain"
check "ours were called" "$(grep -c '^10 locks, 10 unlocks, 0 lists$' "$dir/plain.out")" = 1
diff "$dir/plain.out" "$dir/profiled.out" || fail "others are called"

begin "a lock is charged to who held it"
settings=("${recording[@]}")
same "$PROGRAMS/waits.fentry" locks
verified "$profile"
check "the long one" "$(waited hold_long "$profile" held)" -ge 100
check "the short one" "$(waited hold_short "$profile" held)" -ge 25
check "not who waited" "$(waited contend "$profile" held)" = 0
check "below who waited, it has the holder's name" "$(waited '[held by hold_long]')" -ge 100
check "but is no part of its own" "$("$REPORT" --by module --metric wait --format csv "$profile" | grep -c 'no module')" = 0
check "the pair in the view" "$("$REPORT" --waits --format json "$profile" |
  python3 -c 'import json, sys
print(sum(row["waits"] for row in json.load(sys.stdin)["contention"]
          if row["caller"].startswith("contend") and "hold_long" in row["holder"]))')" -ge 5
check "context switches" "$(total voluntary-switches)" -ge 40

# The last call of a function is a jump: its caller's call, which names it, tells who released.
begin "a lock is charged to who jumps to its release"
cat >"$dir/jumps.c" <<'C'
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int sum, is_held, is_over;
__attribute__((noinline)) int hold(void) {
  pthread_mutex_lock(&mutex);
  is_held = 1;
  usleep(10000);
  is_held = 0;
  return pthread_mutex_unlock(&mutex);
}
__attribute__((noinline)) void calls_first(void) { hold(); ++sum; }
__attribute__((noinline)) void calls_second(void) { ++sum; hold(); ++sum; }
static void* contend(void* unused) {
  while (!is_over) {
    while (!is_held && !is_over) usleep(100);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, contend, NULL);
  for (int i = 0; i < 15; ++i) {
    calls_first();
    usleep(500);
    calls_second();
    usleep(500);
  }
  is_over = 1;
  pthread_join(thread, NULL);
  return 0;
}
C
gcc -O2 "$dir/jumps.c" -o "$dir/jumps" || fail "no program"
"$FBLE_PROF" --exact --waits -o "$profile" "$dir/jumps" || fail "it fails"
verified "$profile"
check "the function that jumped" "$(waited hold "$profile" held)" -ge 100
check "not its callers" "$(paths "$profile" held | grep -c ';calls_[a-z]* [0-9]*$')" = 0

begin "waiting for a processor is told apart from the rest"
settings=("${recording[@]}")
same "$PROGRAMS/waits.plain" crowded
verified "$profile"
if [ -n "$(total preempted)" ]; then
  # Two threads with 100 ms of CPU time each wait for each other.
  check "each waited" $(($(total preempted) / 1000000)) -ge 50
  check "unseen is little else" "$(total unseen)" -le $(($(total preempted) * 2))
else
  skip "the kernel does not tell"
fi

# The worker waits as long as the main thread, which sleeps and joins it meanwhile.
for mode in stopped stopped_for_good started started_for_good interrupted; do
  begin "a wait counts for the time that is recorded: $mode"
  settings=("${recording[@]}")
  same "$PROGRAMS/waits.plain" $mode
  verified "$profile"
  main=$(waited main) all=$(($(total wait) / 1000000))
  check "the main thread's" "$main" -ge 199
  check "the worker's, in ms: not less than $main" $((all - main)) -ge $((main - 50))
  check "not more than $main" $((all - main)) -le $((main + 50))
done

begin "programs run as they do without"
settings=("${recording[@]}" FBLEPROF_CLOCK=wall)
# shellcheck disable=SC2016  # for the inner shell
same bash -c '(sleep 0.1; echo late) & echo now; wait; echo a b | tr " " "\n" | sort -r | while read -r x; do echo "$x"; done; read -t 0.1 x </dev/zero; echo $?'
command -v sqlite3 >/dev/null && same sqlite3 "$dir/base" 'create table if not exists t(a); delete from t; insert into t values (1), (2); select sum(a) from t'
cat >"$dir/program.py" <<'END'
import asyncio, queue, subprocess, threading
todo, done = queue.Queue(), queue.Queue()
def work():
    while (item := todo.get()) is not None:
        done.put(item * item)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for item in list(range(100)) + [None] * 4: todo.put(item)
for thread in threads: thread.join()
print(sum(done.get() for _ in range(100)), threading.Event().wait(0.05))
print(subprocess.run(["cat"], input=b"abc" * 1000, capture_output=True).stdout.count(b"abc"))
async def echo(reader, writer):
    writer.write((await reader.readline()).upper())
    writer.close()
async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async def ask(n):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"x%d\n" % n)
        return await reader.readline()
    print(await asyncio.gather(*(ask(n) for n in range(20))))
asyncio.run(main())
END
command -v python3 >/dev/null && same python3 "$dir/program.py"
verified "$profile"

for mode in plain fentry mcountc cyg; do
  begin "a handler on a signal stack of 3 kB, $mode"
  settings=("${recording[@]}" FBLEPROF_RATE=1)  # a sample has no room there
  same "$PROGRAMS/scant_stack.$mode"
  verified "$profile"
  waited_for "its waits" poll 50

  begin "what a handler of a fault raises waits for its end, $mode"
  settings=("${recording[@]}" FBLEPROF_RATE=1)
  same "$PROGRAMS/scant_stack.$mode" fault
  has_text reported "$dir/profiled.out" || fail "the handler did not end"
done

begin "a handler on a signal stack of 3 kB, of a program that was confined before it started"
readv=310 EPERM=1
plain "$PROGRAMS/scant_stack.fentry"
run profiled -- "$PROGRAMS/refusing.plain" $readv=$EPERM -- env "${recording[@]}" FBLEPROF_RATE=1 \
  FBLEPROF_OUT="$profile" "$PROGRAMS/scant_stack.fentry"
same_as_plain

begin "the launcher"
"$FBLE_PROF" --waits -o "$profile" sleep 0.1
waited_for "asked for" nanosleep 90
"$FBLE_PROF" --clock=wall -o "$profile" sleep 0.1
waited_for "with the wall clock" nanosleep 90
"$FBLE_PROF" --clock=wall --no-waits -o "$profile" sleep 0.1
check "not asked for" -z "$(total wait)"
"$FBLE_PROF" --waits --no-waits true 2>"$dir/err"
check "not both" "$? $(wc -l <"$dir/err")" = "2 1"
settings=(FBLEPROF_WAITS=1)
profiled true
check "without the wrappers" "$("$REPORT" --summary "$profile" | grep -c libfbleprof_wait)" = 1

begin "a program that is stopped for a second"
started env LD_PRELOAD="$LIB:$(dirname "$LIB")/libfbleprof_wait.so" FBLEPROF_OUT="$profile" FBLEPROF_WAITS=1 \
  "$PROGRAMS/attached_calls.plain" 1
kill -STOP "$pid"
sleep 1
kill -CONT "$pid"
for point in before begin end after rest bounded short fork waiting woken fault resume stop; do
  touch "$dir/$point"
done
ended
verified "$profile"
check "its CPU time is what the kernel counts" "$(fact cpu_ns)" -le $(($(fact process_cpu_ns) * 12 / 10))
