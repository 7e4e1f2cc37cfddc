#!/bin/bash
# fble-prof attach: profiles running programs, which must not notice.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
needs_tracing

# cycles N: detaches and attaches again, N times.
cycles() {
  for _ in $(seq "$1"); do
    if ! { "$FBLE_PROF" detach "$pid" && "$FBLE_PROF" attach "$pid"; } 2>/dev/null; then
      kill -0 "$pid" 2>/dev/null && fail "a cycle failed"
      return
    fi
  done
}

for how in work sleep; do
  begin "a program of one thread, $how"
  started "$PROGRAMS/phases.plain" 60 $how
  attach -o "$profile" "$pid"
  check "a timer is armed" "$(wc -l <"/proc/$pid/timers")" -gt 0
  sleep 0.4
  detach "$pid"
  check "the timers are gone" "$(wc -l <"/proc/$pid/timers")" = 0
  "$FBLE_PROF" ctl "$profile" start 2>"$dir/ctl.err" && fail "ctl starts what was detached"
  has_text "is detached: use fble-prof attach $pid" "$dir/ctl.err" || fail "ctl gives other advice"
  attach "$pid"
  cycles 5
  sleep 0.5  # what is shown begins with the last time that it was attached
  touch "$dir/stop"
  ended
  sleeps_went_on
  verified "$profile"
  check "it was sampled" "$(fact samples)" -gt 0
  [ $how = sleep ] || near_share "first" "$(share first)" 75 12  # the other has few samples
done

begin "a program that is stopped and continued all the time"
started "$PROGRAMS/phases.plain" 60 sleep
while kill -STOP "$pid" && sleep 0.003 && kill -CONT "$pid" && sleep 0.003; do :; done 2>/dev/null &
stops=$!
attach -o "$profile" "$pid"
for _ in 1 2 3 4 5; do
  detach "$pid"
  attach "$pid"
done
kill "$stops"
wait "$stops"
for _ in 1 2; do
  kill -STOP "$pid"
  detach "$pid"
  check "it is still stopped" "$(awk '/^State/ { print $2 }' "/proc/$pid/status")" = T
  kill -CONT "$pid"
  attach "$pid"
done
touch "$dir/stop"
ended
sleeps_went_on
verified "$profile"

begin "a relative name, in a directory whose name looks like a template"
mkdir "$dir/100%e"
started "$PROGRAMS/phases.plain" 60 work
(cd "$dir/100%e" && "$FBLE_PROF" attach --duration 300ms -o run.out "$pid" 2>>"$dir/fble-prof.err") ||
  fail "it was refused"
touch "$dir/stop"
ended
verified "$dir/100%e/run.out"

for clock in cpu wall; do
  for way in execve execvp execl fexecve execveat thread; do
    begin "a program that becomes another one by $way, with the clock $clock"
    started "$PROGRAMS/attached_exec.plain" $way "$dir/go"
    attach --rate 20000 --clock $clock -o "$profile" "$pid"
    touch "$dir/go"
    ended
    check "the next program" "$(cat "$dir/out")" = "next, SIGPROF blocked"
    verified "$profile"
    "$REPORT" --summary "$profile" | grep -q '^state .*exec' || fail "the profile does not say how it ended"
  done
done
for way in spawn system vfork fails; do
  for option in --exact --callsites; do
    begin "a program whose children become others, or that fails to: $way, $option"
    started "$PROGRAMS/attached_exec.plain" $way "$dir/go"
    text_of >"$dir/text.before"
    attach $option --rate 5000 -o "$profile" "$pid"
    detach "$pid"
    text_of >"$dir/text.after"
    cmp -s "$dir/text.before" "$dir/text.after" || fail "the code is not as it was"
    attach $option "$pid"
    touch "$dir/go"
    ended
    check "the last line" "$(tail -n 1 "$dir/out")" = "went on"
    verified "$profile"
    check "it was sampled afterwards" "$(dominated after_exec | cut -d. -f1)" -gt 50
  done
done

begin "threads that come and go"
if command -v python3 >/dev/null; then
  cat >"$dir/threads.py" <<'END'
import threading, time
end = time.monotonic() + 8
bad = []
def works():
    while time.monotonic() < end:
        sum(range(20000))
def sleeps():
    while time.monotonic() < end:
        before = time.monotonic()
        time.sleep(0.02)
        if time.monotonic() - before < 0.0199:
            bad.append(1)
threads = [threading.Thread(target=f) for f in (works, sleeps, sleeps)]
for thread in threads:
    thread.start()
while time.monotonic() < end:
    short = threading.Thread(target=lambda: sum(range(100000)))
    short.start()
    short.join()
for thread in threads:
    thread.join()
print("bad", len(bad))
END
  started "$(python3 -c 'import sys; print(sys.executable)')" "$dir/threads.py"
  attach -o "$profile" "$pid"
  cycles 20
  ended
  check "no sleep was disturbed" "$(cat "$dir/out")" = "bad 0"
  verified "$profile"
  check "several threads were found" "$(fact 'threads')" -gt 1
fi

begin "an allocator whose file was replaced"
cat >"$dir/allocator.c" <<'END'
#include <string.h>
static char memory[64 << 20];
static size_t used;
static volatile int lock;
void* malloc(size_t bytes) {
  while (__sync_lock_test_and_set(&lock, 1)) continue;
  for (volatile int i = 0; i < 200000; ++i) continue;
  void* got = memory + used % (32 << 20);
  used += (bytes + 31) & ~15ul;
  __sync_lock_release(&lock);
  return got;
}
void free(void* memory) { (void)memory; }
void* calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void* realloc(void* old, size_t bytes) {
  void* got = malloc(bytes);
  return old ? memcpy(got, old, bytes) : got;
}
END
cat >"$dir/allocates.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  while (count > 1 && access(words[1], F_OK) != 0) free(malloc(16));
  return 0;
}
END
gcc -O1 -shared -fPIC -o "$dir/liballocator.so" "$dir/allocator.c"
gcc -O0 -fno-builtin -o "$dir/allocates" "$dir/allocates.c"
started env LD_PRELOAD="$dir/liballocator.so" "$dir/allocates" "$dir/stop"
cp "$dir/liballocator.so" "$dir/new"
mv "$dir/new" "$dir/liballocator.so"
for _ in 1 2 3; do
  timeout -k 1 20 "$FBLE_PROF" attach -o "$profile" "$pid" 2>"$dir/attach.err"
  # It may never be outside when it is stopped.
  [ $? -le 1 ] || fail "attach does not end: $(cat "$dir/attach.err")"
done
touch "$dir/stop"
ended

begin "redis under load"
if command -v redis-benchmark redis-check-rdb >/dev/null; then
  # redis-tools contains the server, too, under another name.
  ln -s "$(command -v redis-check-rdb)" "$dir/redis-server"
  port=$((20000 + $$ % 20000))
  started "$dir/redis-server" --port $port --save ''
  attach -o "$profile" "$pid"
  timeout 30 redis-benchmark -p $port -n 30000 -q -t set,get >"$dir/load" 2>&1 &
  load=$!
  cycles 10
  wait "$load" || fail "the load failed: $(cat "$dir/load")"
  check "it answers" "$(timeout 5 redis-cli -p $port ping)" = PONG
  timeout 5 redis-cli -p $port shutdown nosave
  ended
  verified "$profile"
else
  skip "no redis-benchmark: run scripts/setup"
fi

begin "a process that sees other files"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  cp "$PROGRAMS/phases.plain" "$dir/phases"
  cp "$PROGRAMS/refusing.plain" "$dir/refusing"
  # Its memory file must be close-on-exec: memfd_create without flags is refused. And it must not
  # take the place of a closed stderr.
  started unshare -m sh -c "mount -t tmpfs none '$(dirname "$LIB")' &&
    exec '$dir/refusing' 319/1/0=22 -- '$dir/phases' 60 sleep 2>&-"
  sleep 0.3
  attach --despite-seccomp -o "$profile" "$pid"
  sleep 0.3
  detach --despite-seccomp "$pid"
  touch "$dir/stop"
  ended
  sleeps_went_on
  verified "$profile"
fi

begin "a process in another root"
root=$dir/root
if [ "$(id -u)" = 0 ] && mkdir -p "$root/proc" "$root/tmp" && chroot / true; then
  for file in "$PROGRAMS/phases.plain" $(ldd "$PROGRAMS/phases.plain" | grep -o '/[^ ]*'); do
    install -D "$file" "$root$file"
  done
  started chroot "$root" "$PROGRAMS/phases.plain" 60
  sleep 0.3
  launcher_refuses 1 "in its root, mount /proc" attach "$pid"
  if mount -t proc none "$root/proc" 2>/dev/null; then
    attach "$pid"
    sleep 0.4
    detach "$pid"
    verified "$root/tmp/mlmon.out.$pid"
    umount -l "$root/proc"
  fi
  touch "$root/stop"
  ended
fi

begin "a file that cannot be made"
started "$PROGRAMS/phases.plain" 60
launcher_refuses 1 "no such directory" attach -o "$dir/none/profile" "$pid"
launcher_refuses 1 "no such directory" attach --exact -o "$dir/none/profile" "$pid"
attach -o "$profile" "$pid"
sleep 0.4
detach "$pid"
attach "$pid"
sleep 0.4
touch "$dir/stop"
ended
verified "$profile"
check "it was sampled" "$(fact samples)" -gt 0

begin "a program that has a recorder, which writes no file"
FBLEPROF_OUT=$dir/none/profile LD_PRELOAD=$LIB started "$PROGRAMS/phases.plain" 60
launcher_refuses 1 "restart the program" attach -o "$profile" "$pid"
touch "$dir/stop"
ended

begin "bad input"
launcher_refuses 2 "expected" attach
launcher_refuses 2 "expected" attach one
launcher_refuses 2 "expected" detach
launcher_refuses 2 "needs --exact" attach --throttle 1 1
launcher_refuses 2 "fble-prof starts" attach --waits 1
launcher_refuses 2 'bad pattern "re:("' attach --not 're:(' 1
launcher_refuses 1 "there is none" attach --delay 5m 4194303
launcher_refuses 2 "fble-prof starts" attach --window 1s 1
launcher_refuses 1 "there is none" attach 4194303
launcher_refuses 1 "there is none" detach 4194303
started "$PROGRAMS/phases.plain" 60
launcher_refuses 1 "not recorded" detach "$pid"
touch "$dir/stop"
ended
