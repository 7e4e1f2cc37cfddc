#!/bin/bash
# --throttle: a function that is called too often is not counted any more, and its counts are lower bounds.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

# entered FUNCTION: the number of its calls, by any caller.
entered() {
  "$REPORT" --self --format csv "${2:-$profile}" | python3 -c '
import csv, sys
print(sum(int(r["calls"] or 0) for r in csv.DictReader(sys.stdin) if r["name"] == sys.argv[1]))' "$1"
}
# truth FUNCTION: how often it was called in the profiled run, its child not included.
truth() { awk -v name="$1" '$1 == name { print $2 }' "$dir/profiled/counts"; }

exactly() {
  settings+=(FBLEPROF_EXACT=program FBLEPROF_EXACT_PLANS="$XDG_CACHE_HOME" FBLEPROF_EXACT_TOOL="$FBLE_PROF")
}
mkdir -p "$XDG_CACHE_HOME"

for mode in plain patchable patchableclang; do
  begin "not throttled, $mode"
  [ $mode != plain ] || exactly
  same "$PROGRAMS/often.$mode" counts
  for function in one_round often seldom jumps; do
    check "calls of $function" "$(entered $function)" = "$(truth $function)"
  done
  # With --exact its tail calls have a trampoline of their own.
  [ $mode != plain ] || check "its tail calls" "$(calls jumps often)" = "$(truth jumps)"
  "$REPORT" "$profile" | lacks_text ≥ || fail "a count is a bound"

  begin "throttled, $mode"
  [ $mode != plain ] || exactly
  settings+=(FBLEPROF_THROTTLE=1000000)
  same "$PROGRAMS/often.$mode" counts
  verified "$profile"
  check "it was counted at first" "$(entered often)" -gt 100000
  check "it was not counted later" "$(entered often)" -lt "$(($(truth often) / 2))"
  check "nor its tail calls" "$(calls jumps often)" -lt "$(($(truth jumps) / 2))"
  for function in one_round seldom jumps; do
    check "calls of $function" "$(entered $function)" = "$(truth $function)"
  done
  check "what it calls is called by its caller" "$(($(calls often seldom) + $(calls one_round seldom)))" = "$(truth seldom)"
  for view in --self --edges --block=often --path=one_round,often --hot ""; do
    # shellcheck disable=SC2086  # no view
    "$REPORT" $view "$profile" | has_text '≥ *[0-9,]*[0-9].*often' || fail "${view:-tree}: no bound"
    # shellcheck disable=SC2086
    "$REPORT" $view "$profile" | has_text 'at least; some were not counted' || fail "${view:-tree}: no note"
  done
  "$REPORT" --self "$profile" | lacks_text '≥.*seldom' || fail "the count of seldom is exact"
  "$REPORT" --coverage "$profile" | has_text '[0-9] m\?s  .*called more often than --throttle allows  often' ||
    fail "--coverage does not name it"
  check "since when" "$("$REPORT" --coverage --format json "$profile" |
    python3 -c 'import json, sys; print([r["since"] > 10**8 for r in json.load(sys.stdin)["not_counted"]
      if r["name"] == "often"])')" = "[True]"
  child=$(find "$dir" -name "$(basename "$profile").*")
  verified "$child"
  check "calls in the child" "$(entered one_round "$child")" = 1
  check "the child does not count it either" "$(entered often "$child")" = 0
  "$REPORT" --coverage "$child" | has_text 'called more often than --throttle allows  often' ||
    fail "the child's --coverage does not name it"
  "$REPORT" --coverage "$child" | lacks_text '^ *[0-9]*  often[.a-z]*  often$' ||
    fail "the child seems never to enter it"
  "$REPORT" --coverage "$profile" "$child" | has_text 'called more often than --throttle allows  often' ||
    fail "--coverage of both does not name it"
done

begin "off and on again, patchable"
settings+=(FBLEPROF_THROTTLE=1000000 FBLEPROF_CONTROL_SIGNAL=USR1)
same "$PROGRAMS/often.patchable" counts again
verified "$profile"
check "a throttled function stays so" "$(entered often)" -lt "$(($(truth often) / 2))"

begin "a bad value"
launcher_refuses 2 throttle --throttle 0 true
launcher_refuses 2 throttle --throttle=many true
settings+=(FBLEPROF_THROTTLE=many)
profiled "$PROGRAMS/often.plain" counts
check "it is noted" "$("$REPORT" --summary "$profile" | grep -c 'FBLEPROF_THROTTLE=many: expected 1 or more')" = 1
