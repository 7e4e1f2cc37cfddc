#!/bin/bash
# Names of generated code are in the profile when the program has ended: those that the code had
# when it was sampled, also where two functions used one address.
. "$(dirname "$0")/lib.sh"

# has FUNCTION: the profile has that function between its caller and its callee.
has() {
  "$REPORT" --path "main,caller,$1,callee" "$profile" >/dev/null 2>&1
}
pid_of_profile() { "$REPORT" --summary --format json "$profile" | grep -o '"pid": *[0-9]*' | grep -o '[0-9]*' | head -n 1; }
inclusive_of() {
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null | python3 -c '
import csv, sys
print(sum(int(r["dominated"]) for r in csv.DictReader(sys.stdin) if r["name"] == sys.argv[1]))' "$1"
}

begin "a perf map that is gone, two functions at one address"
same "$PROGRAMS/generated_names.plain" map 60000
rm "/tmp/perf-$(pid_of_profile).map"
has "first function" || fail "the first function has no name"
has "second function" || fail "the second function has no name"
first=$(inclusive_of "first function")
second=$(inclusive_of "second function")
[ $((second * 10)) -gt $((first * 15)) ] || fail "the second one ran twice as long, not $second and $first ns"
verified "$profile"

begin "a map that is written at the end"
same "$PROGRAMS/generated_names.plain" late 60000
rm "/tmp/perf-$(pid_of_profile).map"
has "second function" || fail "the function has no name"

begin "a jitdump that is gone, a function that was moved to the address of another"
same "$PROGRAMS/generated_names.plain" dump 60000
rm "$dir/profiled/jit-$(pid_of_profile).dump"
has "first function" || fail "the first function has no name"
has "second function" || fail "the second function has no name"
[ "$(inclusive_of "second function")" -gt "$(inclusive_of "first function")" ] ||
  fail "the second function ran longer"
"$REPORT" --self --all "$profile" 2>/dev/null | grep -q "first function .*first.script:17$" ||
  fail "the first function has no line"
verified "$profile"

begin "in a program that was confined before it started"
confined=("$PROGRAMS/confined_start.plain" env)
plain "${confined[@]}" "$PROGRAMS/generated_names.plain" dump 60000
run profiled -- "${confined[@]}" LD_PRELOAD="$LIB" FBLEPROF_OUT="$profile" \
  "$PROGRAMS/generated_names.plain" dump 60000
same_as_plain
rm "$dir/profiled/jit-"*.dump
has "first function" || fail "the first function has no name"
has "second function" || fail "the second function has no name"
verified "$profile"

begin "GDB's interface"
same "$PROGRAMS/generated_names.plain" gdb 60000
has "first function" || fail "the first function has no name"
has "second function" || fail "the second function has no name"
verified "$profile"

begin "a killed program's map"
"$FBLE_PROF" --out "$dir/killed" "$PROGRAMS/generated_names.plain" map 100000000 &
program=$!
map=/tmp/perf-$program.map
wait_for() { for _ in $(seq 200); do "$@" && return; sleep 0.05; done; fail "never: $*"; }
is_sampled() { "$REPORT" --path main,caller,callee "$dir/killed" >/dev/null 2>&1 || "$REPORT" --path "main,caller,first function,callee" "$dir/killed" >/dev/null 2>&1; }
wait_for is_sampled
profile=$dir/killed
has "first function" || fail "the function of a running program has no name"
kill -KILL "$program"
wait "$program" 2>/dev/null
has "first function" || fail "the function of a killed program has no name"
rm "$map"
