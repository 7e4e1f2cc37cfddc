#!/bin/bash
# When recording is on: ctl, the C API, a signal, a delay and a duration, windows.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

# in_background ARGS...: starts fble-prof; its process id is $pid, its profile is $profile.
in_background() {
  (cd "$dir" && exec "$FBLE_PROF" -o "$profile" "$@" >"$dir/out" 2>"$dir/err") &
  pid=$!
  for _ in $(seq 200); do
    ctl status >/dev/null 2>&1 && return
    sleep 0.05
  done
  fail "it did not start: $(cat "$dir/err")"
}
ctl() { "$FBLE_PROF" ctl "$profile" "$@"; }
does() { ctl "$@" 2>"$dir/ctl.err" || fail "ctl $* says: $(cat "$dir/ctl.err")"; }
recording() { ctl status | sed -n 's/^recording *//p'; }
in_raw() { "$REPORT" --raw "$profile" | grep -ac "$1"; }
end_of_run() {
  touch "$dir/stop"
  wait "$pid" || fail "the program ended with $?"
  verified "$profile"
}

for mode in plain fentry; do
  for how in work sleep; do
    begin "start and stop, $mode, $how"
    in_background --start-off "$PROGRAMS/phases.$mode" 60 $how
    check "it is off" "$(recording)" = off
    check "no timer is armed" "$(wc -l <"/proc/$pid/timers")" = 0
    check "and no perf event" "$(grep -c perf_event "/proc/$pid/maps")" = 0
    does start
    check "it is on" "$(recording)" = on
    check "a timer is armed" "$(wc -l <"/proc/$pid/timers")" = 4
    does start
    sleep 0.3
    does stop
    check "it is off again" "$(recording)" = off
    check "the timer is gone" "$(wc -l <"/proc/$pid/timers")" = 0
    end_of_run
    check "no sleep was disturbed" "$(tail -n 1 "$dir/out")" = "0 bad sleeps"
    check "time was recorded" "$(fact cpu_ns)" -gt 0
    check "but not all" "$(fact cpu_ns)" -lt "$(fact process_cpu_ns)"
    [ $mode = plain ] || check "calls were counted" "$(calls '*' first)" -gt 0
  done
done

begin "a late start: calls stand below the functions that ran already"
for mode in fentry mcount cyg cygclang patchable plain; do
  profile=$dir/$mode.out
  options=()
  [ $mode != plain ] || options=(--exact)
  "$FBLE_PROF" -o "$profile" --start-off "${options[@]}" "$PROGRAMS/late.$mode" \
    >"$dir/profiled.out" 2>"$dir/err" || fail "late.$mode ended with $?: $(cat "$dir/err")"
  expected
done

begin "off and on again, many times, with threads"
in_background "$PROGRAMS/threads.fentry" many
for _ in $(seq 100); do
  ctl stop 2>/dev/null
  ctl start 2>/dev/null || break
done
end_of_run

begin "snapshots"
in_background "$PROGRAMS/phases.plain" 60
does snapshot before
does snapshot "a name with blanks"
does snapshot before
does snapshot $'red \e[31m, \302\23331m'  # bytes: \u depends on the locale
ctl status | lacks_text "$(printf '[\033\302\233]')" || fail "a name reaches the terminal"
check "a control character is shown" "$(ctl status | grep -c 'red ?\[31m, ?31m')" = 1
if [ -c /dev/full ]; then
  launcher_says=$(ctl status 2>&1 >/dev/full)
  check "a status that cannot be written" $? = 2
  check "it says so" "$launcher_says" = "fble-prof: stdout: No space left on device"
fi
check "a name has one snapshot" "$(ctl status | grep -c '^snapshot.*: before (asked for)')" = 1
check "there are two" "$(ctl status | grep -c '^snapshot')" = 3
end_of_run
check "they are in the file" "$(in_raw '^snapshot .*is_complete=1')" = 3

begin "the program takes a snapshot, and counts anew"
in_background "$PROGRAMS/phases.plain" 2 mark
wait "$pid"
verified "$profile"
check "the calls succeed" "$(head -n 2 "$dir/out" | tr '\n' ' ')" = "snapshot 0 reset 0 "
check "a reset is in the file" "$(in_raw '^snapshot .*reason=3 is_complete=1')" = 1

begin "reset from outside"
in_background "$PROGRAMS/phases.fentry" 60
sleep 1
does reset
all=$("$REPORT" --raw "$profile" | grep -ac '^node')
end_of_run
check "contexts stay" "$("$REPORT" --raw "$profile" | grep -ac '^node')" -ge "$all"
check "a reset is in the file" "$(in_raw '^snapshot .*reason=3 is_complete=1')" = 1

begin "a delay and a duration"
in_background --delay 2s --duration 1500ms "$PROGRAMS/phases.plain" 5 sleep
check "it is off at first" "$(recording)" = off
wait "$pid"
verified "$profile"
check "no sleep was disturbed" "$(tail -n 1 "$dir/out")" = "0 bad sleeps"
check "time was recorded" "$(fact cpu_ns)" -gt 0
check "but not all" "$(($(fact cpu_ns) * 3 / 2))" -lt "$(fact process_cpu_ns)"
check "recorded for the duration" "$(fact recorded_ns)" -ge 1450000000
check "and not longer" "$(fact recorded_ns)" -lt 2500000000

begin "a signal"
in_background --control-signal USR2 "$PROGRAMS/phases.plain" 60
# becomes STATE: waits up to five seconds for it.
becomes() {
  for _ in $(seq 50); do
    [ "$(recording)" = "$1" ] && return
    sleep 0.1
  done
  fail "it does not turn $1"
}
kill -USR2 "$pid"
becomes off
kill -USR2 "$pid"
becomes on
end_of_run

begin "windows"
in_background --window 100ms,3 "$PROGRAMS/phases.plain" 2
wait "$pid" 2>/dev/null
verified "$profile"
check "the newest three are kept" "$(in_raw '^snapshot .*reason=1 is_complete=1')" = 3
check "of more" "$(in_raw '^snapshot .*generation=\([4-9]\|[1-9][0-9]\)')" -gt 0

begin "windows of a program that runs already"
in_background "$PROGRAMS/phases.plain" 2
does windows 100ms,2
wait "$pid"
verified "$profile"
check "the newest two are kept" "$(in_raw '^snapshot .*reason=1 is_complete=1')" = 2

begin "windows that were missed are not made up for"
in_background "$PROGRAMS/phases.plain" 60
"$FBLE_PROF" ctl "$profile" windows 200ms,5 &
taker=$!
sleep 1.1
kill -STOP "$taker"
sleep 2
kill -CONT "$taker"
sleep 0.3
check "those from before are kept" "$(ctl status | sed -n 's/^snapshot *at \([0-9.]*\)\(m*\)s .*/\1 \2/p' |
  awk '{ at[NR] = $2 == "m" ? $1 / 1000 : $1 } END { print (NR == 5 && at[5] - at[1] > 1.5) }')" = 1
end_of_run
wait "$taker"

begin "without stdin, stdout and stderr"
in_background sleep 3
"$FBLE_PROF" ctl "$profile" snapshot first <&-
"$FBLE_PROF" ctl "$profile" status >&- 2>/dev/null
"$FBLE_PROF" ctl "$profile" stop 2>&-
ctl status >/dev/null || fail "what cannot be said is written into the profile"
"$FBLE_PROF" ctl "$profile" jump <&- >&- 2>&-
check "wrong usage" $? = 2
wait "$pid" || fail "the program ended with $?"
verified "$profile"
"$REPORT" --export folded "$profile" >"$dir/shown"
"$REPORT" --export folded --output "$dir/written" "$profile" <&- >&- 2>&- || fail "no report: $?"
cmp "$dir/shown" "$dir/written" || fail "the report differs"

begin "a program that becomes another one while ctl waits for it"
cat >"$dir/waits.c" <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(int count, char** words) {
  char byte;
  if (count < 3 || read(open(words[1], O_RDONLY), &byte, 1) != 1) return 1;
  execl(words[2], words[2], (char*)0);
  return 2;
}
END
cat >"$dir/next.c" <<'END'
#include <unistd.h>
int main(void) {
  for (volatile long i = 0; i < 300000000; ++i) continue;
  return write(1, "alive\n", 6) != 6;
}
END
if gcc -o "$dir/waits" "$dir/waits.c" && gcc -static -o "$dir/next" "$dir/next.c" 2>/dev/null; then
  mkfifo "$dir/go"
  in_background --start-off "$dir/waits" "$dir/go" "$dir/next"
  ctl start 2>/dev/null &
  control=$!
  sleep 0.3
  echo >"$dir/go"
  wait "$pid" || fail "it ended with $?"
  check "the next program" "$(cat "$dir/out")" = alive
  wait "$control"
else
  skip "no static libc"
fi

begin "bad input"
profiled "$PROGRAMS/phases.plain" 0.1
launcher_refuses 2 "has ended" ctl "$profile" stop
# A program that took little time before exec leaves no profile.
"$FBLE_PROF" -o "$profile" bash -c "for i in {1..100000}; do :; done; exec '$PROGRAMS/phases.plain' 0.1" >/dev/null
launcher_refuses 2 "became another one by exec, whose profile is $profile\.[0-9]*\*$" ctl "$profile" stop
launcher_refuses 2 "No such file" ctl "$dir/none" stop
launcher_refuses 2 "not a profile" ctl "$here/control.sh" stop
launcher_refuses 2 "expected FILE" ctl "$profile"
launcher_refuses 2 "expected FILE" ctl "$profile" jump
launcher_refuses 2 "expected FILE" ctl "$profile" snapshot
launcher_refuses 2 '"\.\."' ctl "$profile" snapshot a..b
launcher_refuses 2 "expected a time" ctl "$profile" windows soon
launcher_refuses 2 "expected a time" --delay never true
launcher_refuses 2 "expected a time" --duration 5x true
launcher_refuses 2 "expected a time" --window 0s true
launcher_refuses 2 "USR1" --control-signal KILL true
in_background "$PROGRAMS/phases.plain" 60
kill -KILL "$pid"
wait "$pid" 2>/dev/null
launcher_refuses 2 "was killed" ctl "$profile" stop
