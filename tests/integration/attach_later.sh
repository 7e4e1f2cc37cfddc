#!/bin/bash
# What a program does after fble-prof attach: it sets actions for SIGPROF, and starts threads.
# Others truncate its profile.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
needs_tracing

# has_sigprof FIELD: whether SIGPROF is in this set of the process's status.
has_sigprof() { echo $((16#$(awk -v field="$1:" '$1 == field { print $2 }' "/proc/$pid/status") >> 26 & 1)); }

# as_alone WAY: what attached_signals prints without a profiler.
as_alone() {
  touch "$dir/alone" "$dir/alone.end"
  "$PROGRAMS/attached_signals.plain" "$1" "$dir/alone" >"$dir/expected"
}

# said_times TEXT NUMBER: waits until the program has said it so often.
said_times() {
  for _ in $(seq 200); do
    [ "$(grep -c "$1" "$dir/out")" -lt "$2" ] || return 0
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.02
  done
  fail "it did not say $1 $2 times"
}

# went_on: the program ended as without a profiler.
went_on() {
  wait "$timer"
  check "the status" $? = 42
  diff "$dir/expected" "$dir/out" || fail "it saw something else"
  verified "$profile"
}

for option in --callsites --exact; do
  for way in default ignored own twice thread bad child vfork; do
    begin "a program that sets an action for SIGPROF: $way, $option"
    as_alone $way
    started "$PROGRAMS/attached_signals.plain" $way "$dir/go"
    attach $option --rate 5000 -o "$profile" "$pid"
    touch "$dir/go"
    said "^set"
    touch "$dir/go.end"
    went_on
    check "it was sampled afterwards" "$(dominated afterwards | cut -d. -f1)" -gt 20
  done
  for way in default ignored own blocked; do
    begin "a detach after the program has set an action: $way, $option"
    as_alone $way
    started "$PROGRAMS/attached_signals.plain" $way "$dir/go"
    text_of >"$dir/text.before"
    attach $option --rate 5000 -o "$profile" "$pid"
    touch "$dir/go"
    said "^set"
    detach "$pid"
    text_of >"$dir/text.after"
    cmp -s "$dir/text.before" "$dir/text.after" || fail "the code is not as it was"
    handled=0
    [ $way = own ] && handled=1
    check "the kernel has the program's action" "$(has_sigprof SigCgt)" = $handled
    check "no sample is left" "$(has_sigprof SigPnd)" = 0
    attach $option "$pid"
    touch "$dir/go.end"
    went_on
  done
  for way in nothing default bus detached; do
    begin "its profile is truncated: $way, $option"
    as_alone $way
    started "$PROGRAMS/attached_signals.plain" $way "$dir/go"
    attach $option --rate 5000 -o "$profile" "$pid"
    touch "$dir/go"
    said "^set"
    [ $way != detached ] || detach "$pid"
    truncate -s 0 "$profile"
    sleep 0.2
    touch "$dir/go.end"
    wait "$timer"
    check "the status" $? = 42
    diff "$dir/expected" "$dir/out" || fail "it saw something else"
  done
  begin "it is attached to again after its profile was truncated, $option"
  for size in 0 20000; do
    rm -f "$dir/go" "$dir/end"
    # No sample comes before: it sleeps.
    # shellcheck disable=SC2016  # perl's variable
    started perl -e 'select undef, undef, undef, 0.1 until -e "go"; $x++ for 1 .. 5e6; open E, ">end"'
    attach $option --rate 5000 -o "$profile" "$pid"
    truncate -s $size "$profile"
    launcher_refuses 1 "not a profile\|damaged" attach --exact "$pid"
    launcher_refuses 1 "not a profile\|damaged" detach "$pid"
    touch "$dir/go"
    ended
    check "it went on" -e "$dir/end"
  done

  begin "a thread that starts while all others sleep, $option"
  started "$PROGRAMS/attached_threads.plain" one "$dir/go"
  attach $option -o "$profile" "$pid"
  sleep 0.3
  touch "$dir/go"
  ended
  verified "$profile"
  check "its time was recorded" "$(dominated in_thread | cut -d. -f1)" -gt 80
  check "as much as it took" "$(($(fact cpu_ns) / 1000000))" -gt 400

  begin "very short threads, $option"
  started "$PROGRAMS/attached_threads.plain" short "$dir/go" 1000
  attach $option -o "$profile" "$pid"
  touch "$dir/go"
  ended
  verified "$profile"
  # The main thread only starts and joins them: it need not have a sample.
  check "all were found" "$(fact threads)" -ge 1000
  check "their time was recorded" "$(($(fact cpu_ns) / 1000000))" -gt 90
  check "the rate is not the threads'" "$(fact rate_reached_hz)" -lt 1100
done

# A timer that is left at a detach would end the program.
begin "detaches while short threads start and end"
started "$PROGRAMS/attached_threads.plain" churn "$dir/go"
end=$((SECONDS + 15))
while [ $SECONDS -lt $end ] && kill -0 "$pid" 2>/dev/null; do
  attach --rate 5000 -o "$profile" "$pid"
  detach "$pid"
done
touch "$dir/go"
ended
verified "$profile"

# glibc has room for the values of 32 keys in each thread, and 1024 keys.
for keys in 40 2000; do
  begin "a program that uses $keys keys of thread-specific values"
  started "$PROGRAMS/attached_threads.plain" keys "$dir/go" $keys
  if "$FBLE_PROF" attach --exact -o "$profile" "$pid" 2>"$dir/attach.err"; then fail "its calls are counted"; fi
  has_text "so many thread-specific values" "$dir/attach.err" || fail "the reason is not told"
  attach -o "$profile" "$pid"
  sleep 0.3
  touch "$dir/go"
  ended
  verified "$profile"
  check "its time was recorded" "$(($(fact cpu_ns) / 1000000))" -gt 400
done

begin "all signals are blocked"
started "$PROGRAMS/attached_signals.plain" blocked "$dir/go"
touch "$dir/go"
said "^set"
attach -o "$profile" "$pid"
has_text "1 of its 1 threads block SIGPROF" "$dir/attach.err" || fail "attach does not say it"
sleep 0.4
detach "$pid"
for view in "" --overview; do
  "$REPORT" $view "$profile" >"$dir/report"
  has_text "CPU time not sampled: SIGPROF was blocked" "$dir/report" || fail "the report does not say it"
done
attach "$pid"
touch "$dir/go.end"
sleep 0.2
wait "$timer"
check "the status" $? = 42
verified "$profile"

# Where all threads block all signals, those that wait for them must not be given ours.
for way in sigwait sigtimedwait signalfd; do
  for when in first again; do
    begin "signals are waited for: $way, attached $when"
    started "$PROGRAMS/attached_waits.plain" $way
    attach --rate 5000 -o "$profile" "$pid"
    [ $when = first ] || { detach "$pid" && attach "$pid"; }
    for number in 1 2 3; do
      kill -USR1 "$pid"
      said_times work $number
    done
    kill -USR2 "$pid"
    ended
    check "what came" "$(tr '\n' ' ' <"$dir/out")" = "work work work end "
    verified "$profile"
  done
done

begin "SIGPROF is ignored, and children and programs start"
touch "$dir/go"
"$PROGRAMS/attached_ignored.plain" "$dir/go" >"$dir/expected"
rm "$dir/go"
started "$PROGRAMS/attached_ignored.plain" "$dir/go"
attach -o "$profile" "$pid"
touch "$dir/go"
ended
diff "$dir/expected" "$dir/out" || fail "they saw something else"
verified "$profile"

begin "each new mapping is locked"
started "$PROGRAMS/locked.plain" attached "$dir/go"
if has_text "mlockall: done" "$dir/out"; then
  attach -o "$profile" "$pid"
  touch "$dir/go"
  ended
  has_text "locked: its own" "$dir/out" || fail "the profile is locked, too"
  verified "$profile"
else
  kill "$pid"
  skip "mlockall is not allowed"
fi

begin "the action is replaced by a system call"
started "$PROGRAMS/attached_signals.plain" raw "$dir/go"
attach -o "$profile" "$pid"
touch "$dir/go"
said "^set"
touch "$dir/go.end"
wait "$timer"
check "the status" $? = 42
"$REPORT" "$profile" >"$dir/report"
has_text "CPU time not sampled: .* or its action replaced" "$dir/report" || fail "the report does not say it"

# Its child has a copy of the recorder, which knows only the parent's file until it counts a call.
cat >"$work/forks.pl" <<'END'
$| = 1;
sub work { my $x = 0; $x += $_ for 1 .. 1000; $x }
work() until -e "go";
my $child = fork;
print "child $child\n" if $child;
work() until -e ($child ? "stop" : "stop.child");
waitpid $child, 0 if $child && -e "stop.child";
END
begin "a child that was forked while it was attached"
started perl "$work/forks.pl"
attach -o "$profile" "$pid"
touch "$dir/go"
said "^child"
child=$(sed -n 's/^child //p' "$dir/out")
sleep 0.3
before=$(fact samples)
for words in "attach -o $dir/child.out" "attach --exact" "attach --delay 1m" detach; do
  # shellcheck disable=SC2086  # words
  launcher_refuses 1 "process $child: .*that of process $pid" $words "$child"
done
check "the parent's samples are counted" "$(fact samples)" -ge "$before"
check "it is recorded" "$(wc -l <"/proc/$pid/timers")" -gt 0
touch "$dir/stop"
ended
launcher_refuses 1 "process $child: .*that of another process" attach "$child"
check "nothing is made for the child" ! -e "$dir/child.out"
kill "$child"
verified "$profile"

begin "a child that has a profile of its own"
started perl "$work/forks.pl"
attach --exact -o "$profile" "$pid"
touch "$dir/go"
said "^child"
child=$(sed -n 's/^child //p' "$dir/out")
for _ in $(seq 100); do [ -s "$profile.$child" ] && break; sleep 0.05; done
detach "$child"
attach --exact "$child"
has_text "goes on in $profile.$child" "$dir/attach.err" || fail "it goes on elsewhere"
detach "$child"
check "the parent is recorded" "$(wc -l <"/proc/$pid/timers")" -gt 0
touch "$dir/stop.child" "$dir/stop"
ended
verified "$profile" "$profile.$child"

begin "nothing is lost"
started "$PROGRAMS/phases.plain" 60
attach -o "$profile" "$pid"
sleep 0.5
touch "$dir/stop"
ended
"$REPORT" "$profile" >"$dir/report"
lacks_text "not sampled" "$dir/report" || fail "the report says so"

begin "programs that start others all the time"
for way in keeps_failing shell; do
  for _ in 1 2 3 4; do
    rm -f "$dir/go" "$profile"
    if [ $way = shell ]; then
      echo "while [ ! -e '$dir/go' ]; do /bin/true; done" >"$dir/loop"
      started sh "$dir/loop"
    else
      started "$PROGRAMS/attached_exec.plain" $way "$dir/go"
    fi
    attach -o "$profile" "$pid"
    sleep 0.4
    detach "$pid"
    check "it was sampled, $way" "$(fact samples)" -gt 0
    attach "$pid"
    touch "$dir/go"
    ended
    verified "$profile"
  done
done
