#!/bin/bash
# fble-prof --only and --not: what a filter leaves out is charged to the nearest caller that is kept.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

# filtered MODE OPTIONS...: the program behaves as without the profiler.
filtered() {
  local mode=$1
  shift
  echo "done 5900" >"$dir/plain.out"
  run profiled -- "$FBLE_PROF" -o "$profile" "$@" "$PROGRAMS/filtered.$mode"
  cmp -s "$dir/plain.out" "$dir/profiled.out" || fail "output: $(cat "$dir/profiled.out")"
  verified "$profile"
}
# counts "CALLER CALLEE CALLS"...
counts() {
  local output
  output=$(printf 'expect %s\n' "$@" | python3 "$facts" expect "$profile" 2>&1) || fail "$output"
}

for mode in fentry mcountc cyg cygclang patchable patchableclang plain; do
  exact=()
  [ $mode != plain ] || exact=(--exact)

  begin "one function is left out, $mode"
  filtered $mode "${exact[@]}" --not middle
  counts "main outer 100" "outer inner 1000" "outer leaf 1000" "outer wide 1000" "wide inner 1000" \
    "inner leaf 4200" "recurse recurse 500" "recurse leaf 600" "through leaf 100" "outer middle 0"

  begin "functions in a row and recursion are left out, $mode"
  filtered $mode "${exact[@]}" --not 're:^(middle|inner|recurse|forward)$'
  counts "outer leaf 3000" "outer wide 1000" "wide leaf 2000" "main leaf 800" "through leaf 100"

  begin "only some are kept, and the last pattern decides, $mode"
  filtered $mode "${exact[@]}" --only 'file:filtered.c' --not '*' --only main --only 'l??f'
  counts "main leaf 5900"
done

begin "sampled"
filtered plain --not 'module:libc*' --only leaf
"$REPORT" --summary "$profile" | grep -q 'module:libc' || fail "the report does not name the filter"

begin "a name that no function has"
filtered plain --only misspelt
"$REPORT" "$profile" 2>&1 | grep -q 'filter misspelt: no sample or call was in a function' ||
  fail "the report does not say why everything is in [root]"
filtered fentry --only leaf
"$REPORT" "$profile" 2>&1 | grep 'no sample or call was in a function' && fail "leaf was called"

begin "what is left out is not counted"
filtered plain --exact --not middle
"$REPORT" --coverage "$profile" | grep -q 'left out by --only or --not .*middle' ||
  fail "the report does not say why"

begin "hooks of what is left out"
for mode in fentry patchable; do
  filtered $mode --not middle
  "$REPORT" --coverage "$profile" >"$dir/coverage"
  check "$mode: it is not among those never entered" "$(grep -c middle "$dir/coverage")" = 1
  grep -q 'left out by --only or --not .*middle' "$dir/coverage" || fail "$mode: no reason"
done

begin "debug information that is installed later, and removed"
program=$dir/program
cp "$PROGRAMS/filtered.fentry" "$program"
objcopy --only-keep-debug "$program" "$program.debug"
strip "$program" && objcopy --add-gnu-debuglink="$program.debug" "$program"
# middle_calls: runs the stripped program; the report needs the names in any case.
middle_calls() {
  run profiled -- "$FBLE_PROF" -o "$profile" --not 'middl*' "$program"
  [ -e "$program.debug" ] || mv "$program.away" "$program.debug"
  calls outer middle
}
mv "$program.debug" "$program.away"
check "without names nothing is left out" "$(middle_calls)" -gt 0
check "with names" "$(middle_calls)" = 0
mv "$program.debug" "$program.away"
check "without them again" "$(middle_calls)" -gt 0

begin "bad patterns"
launcher_refuses 2 'bad pattern "re:("' --not 're:(' true
launcher_refuses 2 'without ";"' --only 'a;b' true
launcher_refuses 2 'expected a pattern' --only '' true

# left_out: how many threads the summary says were left out.
left_out() { "$REPORT" --summary --format json "$profile" | sed 's/.*"threads_left_out":\([0-9]*\).*/\1/'; }
for mode in fentry cyg patchable plain; do
  exact=()
  [ $mode != plain ] || exact=(--exact)
  named() {
    echo "done" >"$dir/plain.out"
    run profiled -- "$FBLE_PROF" -o "$profile" "${exact[@]}" "$@" "$PROGRAMS/named_threads.$mode"
    cmp -s "$dir/plain.out" "$dir/profiled.out" || fail "output: $(cat "$dir/profiled.out")"
    verified "$profile"
  }

  begin "only threads of a name, $mode"
  named --only-thread 'worker*'
  counts "* by_itself 1000" "* by_prctl 1000" "* by_creator 1000" "* as_worker 1000" \
    "* as_other 0" "* helping 0" "* in_main 0" "names_itself by_itself 1000"
  check "main, the helper, and one from some point on are left out" "$(left_out)" = 3

  begin "not threads of a name, $mode"
  named --not-thread 'worker*' --not-thread helper
  counts "* by_itself 0" "* by_prctl 0" "* as_worker 0" "* helping 0" "main in_main 1000" \
    "changes_its_name as_other 1000"
done
launcher_refuses 2 'without ";"' --only-thread 'a;b' true
