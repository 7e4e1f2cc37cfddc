#!/bin/bash
# --window, --since, --windows: parts of a run, divided by the snapshot of a memory peak.
. "$(dirname "$0")/lib.sh"

total() { "$REPORT" --self --metric "${metric:-calls}" --format json "$@" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])'; }

begin "a peak divides the run"
settings=("LD_PRELOAD=$LIB:$(dirname "$LIB")/libfbleprof_alloc.so" FBLEPROF_ALLOCS=exact)
profiled "$PROGRAMS/allocates.fentry" containers
"$REPORT" --windows --format csv "$profile" >"$dir/windows"
number=$(sed -n '2s/,.*//p' "$dir/windows")
check "the peak is listed" "$(cut -d, -f5 "$dir/windows" | tail -n 1)" = peak
check "a second copy begins anew" "$("$REPORT" --windows --format csv "$profile" "$profile")" = \
  "$(cat "$dir/windows"; tail -n +2 "$dir/windows")"
before=$(total --window ..peak "$profile") after=$(total --since peak "$profile")
check "both parts have calls" "$before" -gt 0 -a "$after" -gt 0
check "both parts are the whole" $((before + after)) = "$(total "$profile")"
check "by number" "$(total --window "#$number..end" "$profile")" = "$after"
check "by time, before any snapshot" "$(total --since 0ns "$profile")" = "$(total "$profile")"
check "by time, before the end" "$(total --since -0ns "$profile")" = "$after"
check "in an export" "$("$REPORT" --export folded --metric calls --since peak "$profile" |
  awk '{ sum += $NF } END { print sum }')" = "$after"
check "held at the peak" "$(metric=live total --window ..peak "$profile")" = "$(metric=peak total "$profile")"

begin "two windows are compared"
cp "$work/a_peak_divides_the_run/mlmon.out" "$profile"
for base in "@..peak" "$profile@..peak"; do
  figures=$("$REPORT" --self --metric calls --all --format json --since peak --diff "$base" "$profile" |
    python3 -c 'import json, sys; rows = json.load(sys.stdin)["rows"]; print(sum(r["base_self"] for r in rows), sum(r["self"] for r in rows))')
  check "$base" "$figures" = "$before $after"
done

begin "what is no window is said in one line"
cp "$work/a_peak_divides_the_run/mlmon.out" "$profile"
for bad in "--window peak" "--window x.." "--since x" "--window peak..start" "--window a..b --since a" \
  "--window ..0ns" "--diff @..0ns" "--diff $profile@..0ns" "--diff @peak" "--diff @x.." "--threads --since peak" "--verify --since peak" "--serve --since peak"; do
  # shellcheck disable=SC2086  # words
  "$REPORT" $bad "$profile" >"$dir/out" 2>"$dir/err" </dev/null
  check "status of $bad" $? = 2
  check "lines about $bad" "$(wc -l <"$dir/err")" = 1
done
