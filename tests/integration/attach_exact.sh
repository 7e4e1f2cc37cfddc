#!/bin/bash
# fble-prof attach --exact: counts the calls of running programs, which must not notice.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
needs_tracing
TIMEOUT=300

# ask NAME: lets the program go on to this point, and waits until it has said so.
ask() {
  touch "$dir/$1"
  said "^$1"
}
# told NAME COLUMN: how often step (1) or leaf (2) had been called then.
told() { awk -v name="$1" -v column="$2" '$1 == name { print $(column + 1) }' "$dir/out"; }
# counted FUNCTION [PROFILE]: its calls, by any caller.
counted() {
  "$REPORT" --self --format csv "${2:-$profile}" | python3 -c '
import csv, sys
print(sum(int(r["calls"] or 0) for r in csv.DictReader(sys.stdin) if r["name"] == sys.argv[1]))' "$1"
}
# cycles N OPTION...: attaches and detaches N times.
cycles() {
  local count=$1
  shift
  for _ in $(seq "$count"); do
    attach "$@" "$pid"
    detach "$pid"
  done
}

begin "threads that call functions all the time"
started "$PROGRAMS/attached_calls.plain" 4
text_of >"$dir/text.before"
ask before
attach --exact -o "$profile" "$pid"
ask begin
sleep 0.5
ask end
detach "$pid"
ask after
verified "$profile"
for column in 1 2; do
  function=$([ $column = 1 ] && echo step || echo leaf)
  now=$(counted "$function")
  check "calls of $function, at least" "$now" -ge $(($(told end $column) - $(told begin $column)))
  check "calls of $function, at most" "$now" -le $(($(told after $column) - $(told before $column)))
done
text_of >"$dir/text.after"
cmp -s "$dir/text.before" "$dir/text.after" || fail "the code is not as it was"

cycles 20 --exact
text_of >"$dir/text.after"
cmp -s "$dir/text.before" "$dir/text.after" || fail "the code is not as it was after 20 times"

attach --exact "$pid"
sleep 0.3
detach "$pid"
check "calls stand below the function that ran before" "$(calls run step)" = "$(counted step)"
ask rest
attach --exact "$pid"
ask bounded
detach "$pid"
check "each call is counted" "$(counted step)" = 80000
verified "$profile"

attach --exact "$pid"
ask short
check "calls of short threads, while the program runs" "$(counted step)" = 20000
attach --exact "$pid"
ask fork
check "the child ended well" "$(told fork 1)" = 0
detach "$pid"
check "the parent's calls" "$(counted step)" = 0
child=$(find "$dir" -name "$(basename "$profile").*")
verified "$child"
check "the child's calls" "$(counted step "$child")" = 5000

ask waiting
attach --exact "$pid"
grep -q "1 functions are not counted" "$dir/attach.err" ||
  fail "a thread's system call was changed: $(cat "$dir/attach.err")"
ask woken
check "what it read" "$(told woken 1)" = 42
detach "$pid"

touch "$dir/fault"
said "in the handler"
attach --exact "$pid"
grep -q "1 functions are not counted" "$dir/attach.err" ||
  fail "an occupied function was changed: $(cat "$dir/attach.err")"
touch "$dir/resume"
said "^fault 42"
detach "$pid"
check "the report says why, of both" "$("$REPORT" --coverage "$profile" |
  grep -c 'a thread was in its first instructions')" = 2
ask stop
ended
verified "$profile"

for how in fork vfork; do
  begin "the first call is made in a child, $how"
  mkfifo "$dir/go"
  TIMEOUT=30 started "$PROGRAMS/first_hook.plain" $how go
  attach --exact=program -o "$profile" "$pid"
  echo >"$dir/go"
  ended
  check "the child ended well" "$(cat "$dir/out")" = "child 0, then 0"
  verified "$profile"
  check "the parent's calls" "$(counted step)" = 1
  [ $how = fork ] || continue
  child=$(find "$dir" -name "$(basename "$profile").*")
  verified "$child"
  check "the child's calls" "$(counted step "$child")" = 1000
done

begin "an end after a time, or by a signal"
started "$PROGRAMS/attached_calls.plain" 1
text_of >"$dir/text.before"
attach --exact=program --duration 200ms -o "$profile" "$pid"
text_of >"$dir/text.after"
cmp -s "$dir/text.before" "$dir/text.after" || fail "the code is not as it was after the time"
check "calls are counted" "$(counted step)" -gt 0
"$FBLE_PROF" attach --exact --duration 5m "$pid" 2>"$dir/long.err" &
long=$!
for _ in $(seq 200); do
  grep -q "calls are counted" "$dir/long.err" && break
  sleep 0.05
done
kill -INT $long
wait $long || fail "attach ended with $?: $(cat "$dir/long.err")"
text_of >"$dir/text.after"
cmp -s "$dir/text.before" "$dir/text.after" || fail "the code is not as it was after SIGINT"
launcher_refuses 1 "no module can be counted" attach --exact=nolib "$pid"
check "the summary says why" "$("$REPORT" --summary "$profile" | grep -c "is named nolib")" = 1
points="before begin end after rest bounded short fork waiting woken fault resume stop"
for point in $points; do touch "$dir/$point"; done
said "^stop"
ended

for how in "before its handler is set" "later" "and detached"; do
  begin "faults in the first instructions, attached $how"
  "$PROGRAMS/exact_faults.plain" >"$dir/expected"
  started "$PROGRAMS/exact_faults.plain" "$dir/early" "$dir/late"
  [ "$how" != later ] || { touch "$dir/early" && said ready; }
  attach --exact -o "$profile" "$pid"
  touch "$dir/early"
  said ready
  [ "$how" != "and detached" ] || detach "$pid"
  touch "$dir/late"
  ended
  verified "$profile"
  grep -v ready "$dir/out" | cmp -s - "$dir/expected" || fail "it printed $(tail -n 3 "$dir/out")"
  [ "$how" = "and detached" ] || check "calls are counted" "$(counted load)" = 300
done

begin "recording that starts later"
started "$PROGRAMS/attached_calls.plain" 2
attach --exact --start-off -o "$profile" "$pid"
sleep 0.3
check "nothing is counted" "$(counted step)" = 0
check "no hook is called, which would attach threads" "$(fact threads)" = 0
"$FBLE_PROF" ctl "$profile" start || fail "it does not start"
sleep 0.3
detach "$pid"
check "then calls are" "$(counted step)" -gt 0
attach --exact --start-off "$pid"
sleep 0.3
detach "$pid"
check "nothing is counted the second time" "$(counted step)" = 0
for point in $points; do touch "$dir/$point"; done
said "^stop"
ended

begin "functions that are called too often"
started "$PROGRAMS/attached_calls.plain" 2
attach --exact --throttle 10000 -o "$profile" "$pid"
throttled() { "$REPORT" --coverage "$profile" | grep -c 'called more often than --throttle allows  leaf'; }
for _ in $(seq 100); do
  [ "$(throttled)" = 1 ] && break
  sleep 0.2
done
check "the report says what was throttled" "$(throttled)" = 1
detach "$pid"
for point in $points; do touch "$dir/$point"; done
said "^stop"
ended
verified "$profile"

begin "libraries that are loaded later"
started "$PROGRAMS/loads_later.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
attach --exact -o "$profile" "$pid"
ask first
check "calls of a library loaded meanwhile" "$(counted first_leaf)" = "$(told first 1)"
check "from its caller" "$(calls run_plugin first_leaf)" = "$(told first 1)"
ask again
check "of one that is loaded again and again" "$(counted first_leaf)" = "$(told again 1)"
verified "$profile"
detach "$pid"
ask rest
text_of | sort >"$dir/text.after"
check "after the detach, nothing is counted" "$(counted first_leaf)" = "$(told again 1)"
touch "$dir/stop"
said "^stop"
ended
text_after=$dir/text.after
begin "libraries that are loaded later, without fble-prof"
started "$PROGRAMS/loads_later.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
for point in first again rest; do ask $point; done
text_of | sort >"$dir/text.before"
touch "$dir/stop"
ended
diff "$dir/text.before" "$text_after" || fail "the code was another one"

begin "a detach that fails"
started "$PROGRAMS/loads_later.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
attach --exact -o "$profile" "$pid"
ask vfork
"$FBLE_PROF" detach "$pid" 2>"$dir/attach.err" && fail "it could stop a thread in vfork"
has_text "does not stop" "$dir/attach.err" || fail "it does not say why"
ask first
check "calls of a library that is loaded afterwards" "$(counted first_leaf)" = "$(told first 1)"
touch "$dir/exec" "$dir/again" "$dir/rest"
said "^rest"
detach "$pid"
touch "$dir/stop"
ended

# filtered OPTION...: attaches to a program that calls filtered.c's functions again and again.
filtered() {
  started "$PROGRAMS/filtered.plain" forever
  attach "$@" -o "$profile" "$pid"
  sleep 0.3
  detach "$pid"
  touch "$dir/stop"
  ended
  has_text '^same$' "$dir/out" || fail "its results"
  verified "$profile"
}
# absent NAME...: no context has one of these functions.
absent() {
  local function
  "$REPORT" --self --format csv "$profile" >"$dir/functions"
  for function in "$@"; do lacks_text "\b$function\b" "$dir/functions" || fail "$function is there"; done
}

begin "functions are left out"
filtered --exact --not middle
check "what it called stands below its caller" "$(calls outer inner)" -gt 0
check "and its own calls" "$(calls middle inner)" = 0
check "each other call" "$(calls wide inner)" -gt 0
"$REPORT" --coverage "$profile" | grep -q 'left out by --only or --not .*middle' ||
  fail "the report does not say why"
"$REPORT" --summary "$profile" | grep -q 'filter !middle' || fail "the report does not name the filter"

begin "only some functions are kept"
filtered --exact --only main --only 'l??f'
check "what is left out is charged to the nearest caller that is kept" "$(calls main leaf)" -gt 0
check "and nothing else is counted" "$(fact calls)" = "$(calls main leaf)"
absent outer inner wide recurse

begin "sampled functions are left out"
filtered --only 'module:filtered*' --not leaf --not inner
absent leaf inner
check "it was sampled" "$(fact samples)" -gt 0

begin "a filter stays"
started "$PROGRAMS/phases.plain" 60
attach --only main -o "$profile" "$pid"
detach "$pid"
attach --only main "$pid"
attach "$pid"
launcher_refuses 1 "first attach" attach --not main "$pid"
touch "$dir/stop"
ended

begin "libraries that are loaded later are filtered, too"
started "$PROGRAMS/loads_later.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
attach --exact --not '*_leaf' -o "$profile" "$pid"
ask first
check "calls of what is kept" "$(calls call run_plugin)" = "$(told first 1)"
check "of what is left out" "$(counted first_leaf)" = 0
touch "$dir/again" "$dir/rest" "$dir/stop"
ended

begin "libraries that are loaded later are filtered, and only sampled"
for pattern in '*_leaf' none; do
  rm -f "$dir"/{first,again,busy,rest,stop}  # or the second program would not wait
  started "$PROGRAMS/loads_later.plain" "$PROGRAMS/first.plain" "$PROGRAMS/second.plain"
  attach --rate 10000 --not "$pattern" -o "$profile" "$pid"
  touch "$dir/first" "$dir/again" "$dir/busy" "$dir/rest"
  sleep 1
  touch "$dir/stop"
  ended
  verified "$profile"
  check "what is kept was sampled" "$(dominated run_plugin | cut -d. -f1)" -gt 0
  if [ "$pattern" = none ]; then
    check "so was the rest" "$(dominated first_leaf | cut -d. -f1)" -gt 0
  else
    absent first_leaf
  fi
  lacks_text 'not filtered' <("$REPORT" --summary "$profile") || fail "a library is not filtered"
done

begin "a delay"
started "$PROGRAMS/attached_calls.plain" 1
before=$(date +%s%N)
attach --exact --delay 700ms --duration 200ms -o "$profile" "$pid"
check "it waits" "$(($(date +%s%N) - before))" -ge 900000000
check "then calls are counted" "$(counted step)" -gt 0
"$FBLE_PROF" attach --delay 5m "$pid" 2>"$dir/long.err" &
long=$!
sleep 0.3
kill -INT $long
wait $long
check "an interrupted delay is no success" $? = 1
check "it says so" "$(cat "$dir/long.err")" = \
  "fble-prof: interrupted in the delay: process $pid is not recorded"
for point in $points; do touch "$dir/$point"; done
said "^stop"
ended

# killed_soon ARGS...: runs fble-prof, and kills it after at most 80 ms.
killed_soon() {
  "$FBLE_PROF" "$@" 2>/dev/null &
  local tool=$!
  sleep "0.0$((RANDOM % 80 + 10))"
  kill -KILL $tool 2>/dev/null
  wait $tool 2>/dev/null
}
# A sample that comes when a sleep begins can end it, so only these programs.
for how in read compute; do
  for exact in "" --exact; do
    begin "fble-prof is killed, $how $exact"
    for _ in $(seq 8); do
      rm -f "$dir/stop"
      started "$PROGRAMS/undisturbed.plain" $how
      for _ in 1 2; do
        # shellcheck disable=SC2086  # no word, if it is empty
        killed_soon attach $exact -o "$profile" "$pid"
        killed_soon detach "$pid"
      done
      touch "$dir/stop"
      ended
      check "what was disturbed" "$(cat "$dir/out")" = "wrong 0"
    done
  done
done

begin "interpreters"
cat >"$dir/work.lua" <<'END'
local function work()
  local words = {}
  for i = 1, 2000 do words[i] = tostring(i * 7919 % 1009) end
  table.sort(words)
  return #table.concat(words)
end
local same, first = true, work()
repeat
  for _ = 1, 20 do same = same and work() == first end
  local stop = io.open("stop")
until stop
print(same)
END
cat >"$dir/work.py" <<'END'
import os
def work():
    words = sorted(str(i * 7919 % 1009) for i in range(2000))
    return len(",".join(words))
same, first = True, work()
while not os.path.exists("stop"):
    for _ in range(20):
        same = same and work() == first
print(same)
END
for interpreter in "lua5.4 work.lua" "$(python3 -c 'import sys; print(sys.executable)') work.py"; do
  command -v "${interpreter% *}" >/dev/null || continue
  rm -f "$dir/stop" "$dir/mlmon.out"
  # shellcheck disable=SC2086  # two words
  started $interpreter
  text_of >"$dir/text.before"
  attach --exact -o "$profile" "$pid"
  sleep 0.3
  detach "$pid"
  cycles 3 --exact
  attach --exact "$pid"
  sleep 0.3
  detach "$pid"
  text_of >"$dir/text.after"
  cmp -s "$dir/text.before" "$dir/text.after" || fail "$interpreter: the code is not as it was"
  touch "$dir/stop"
  ended
  check "$interpreter: its results" "$(tail -n 1 "$dir/out" | tr '[:upper:]' '[:lower:]')" = true
  verified "$profile"
  check "$interpreter: calls are counted" "$(fact calls)" -gt 10000
done

for wanted in all perl none other; do
  begin "children: $wanted"
  # shellcheck disable=SC2016  # perl's variable
  started perl -e 'until (-e "stop") { if (!fork) { $x++ for 1 .. 100000; exit } wait }'
  attach --exact --children $wanted -o "$profile" "$pid"
  sleep 0.5
  # On a busy machine, children take longer.
  for ((i = 0; i < 100; ++i)); do
    [ "$wanted" != all ] && [ "$wanted" != perl ] && break
    [ "$(find "$dir" -name 'mlmon.out*' | wc -l)" -gt 2 ] && break
    sleep 0.1
  done
  touch "$dir/stop"
  ended
  verified "$profile"
  files=$(find "$dir" -name 'mlmon.out*' | wc -l)
  case $wanted in
    all | perl) check "they are recorded" "$files" -gt 2 ;;
    *) check "they are not recorded" "$files" = 1 ;;
  esac
done

begin "many libraries"
started env LD_PRELOAD="$(many_libraries 300)" "$PROGRAMS/attached_calls.plain" 4
attach --exact --not many -o "$profile" "$pid"
sleep 0.3
detach "$pid"
kill "$pid"
verified "$profile"
"$REPORT" --coverage "$profile" >"$dir/coverage"
check "libraries that are counted" "$(grep -c '^[0-9]*\.so: counted exactly' "$dir/coverage")" = 300
has_text "^attached_calls.plain: counted exactly" "$dir/coverage" || fail "the program is not counted"
"$REPORT" --summary "$profile" | lacks_text "not filtered" || fail "a library is not filtered"

begin "programs that were started with the recorder"
settings=(FBLEPROF_OUT="$profile" LD_PRELOAD="$LIB")
started env "${settings[@]}" "$PROGRAMS/phases.plain" 60
launcher_refuses 1 "started with the recorder" attach --exact "$pid"
"$FBLE_PROF" attach --duration 200ms "$pid" 2>"$dir/err" || fail "attach fails: $(cat "$dir/err")"
check "there is nothing to say" "$(grep -c detach "$dir/err")" = 0
touch "$dir/stop"
ended
