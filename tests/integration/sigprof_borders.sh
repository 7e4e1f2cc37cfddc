#!/bin/bash
# The program's view of SIGPROF stays in its process, thread and stack: children of vfork, masks of
# new threads and of handlers, handlers without a signal stack, the first process of a namespace.
. "$(dirname "$0")/lib.sh"

for mode in fentry plain; do
  for how in vfork exec spawn masks at-once handler stack; do
    begin "SIGPROF $how $mode"
    same "$PROGRAMS/sigprof_borders.$mode" "$how"
    verified "$profile"
    check "it ran to its end" "$(head -n 1 "$dir/plain.status")" = "exit 0"
  done
done
for how in vfork spawn at-once stack; do
  begin "samples in spite of it, $how"
  profiled "$PROGRAMS/sigprof_borders.plain" "$how"
  check "there are samples" "$(fact samples)" -gt 10
done

begin "the first process of a namespace"
if [ "$(id -u)" = 0 ] && unshare --pid --fork true 2>/dev/null; then
  same "$PROGRAMS/sigprof_borders.plain" first-process
  check "its sleep went on" "$(grep -c '^slept: 0' "$dir/plain.out")" = 1
  verified "$profile"
else
  skip "needs root, and a kernel that makes namespaces"
fi

begin "Python's subprocess beside a profiling timer"
cat >"$dir/program.py" <<'END'
import signal, subprocess, time
ticks = 0
def on_tick(*_):
    global ticks
    ticks += 1
signal.signal(signal.SIGPROF, on_tick)
signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
print([subprocess.run(["true"], close_fds=False).returncode for _ in range(5)])
begin = time.process_time()
while time.process_time() - begin < 0.3: pass
print(ticks > 5, signal.getsignal(signal.SIGPROF) is on_tick)
signal.setitimer(signal.ITIMER_PROF, 0)
END
if command -v python3 >/dev/null; then
  same python3 "$dir/program.py"
else
  skip "no python3"
fi
