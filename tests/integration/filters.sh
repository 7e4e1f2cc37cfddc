#!/bin/bash
# fble-prof --only and --not: what a filter leaves out is charged to the nearest caller that is kept.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

# filtered MODE OPTIONS...: the program behaves as without the profiler.
filtered() {
  local mode=$1
  shift
  plain "$PROGRAMS/filtered.$mode"
  run profiled -- "$FBLE_PROF" -o "$profile" "$@" "$PROGRAMS/filtered.$mode"
  same_as_plain
  verified "$profile"
}
# counts "CALLER CALLEE CALLS"...
counts() {
  local caller callee number
  for _ in "$@"; do
    read -r caller callee number <<<"$1"
    check "calls of $callee by $caller" "$(calls "$caller" "$callee")" = "$number"
    shift
  done
}

for mode in fentry mcountc cyg cygclang patchable patchableclang plain; do
  exact=()
  [ $mode != plain ] || exact=(--exact)

  begin "one function is left out, $mode"
  filtered $mode "${exact[@]}" --not middle
  counts "main outer 100" "outer inner 1000" "outer leaf 1000" "outer wide 1000" "wide inner 1000" \
    "inner leaf 4200" "recurse recurse 500" "recurse leaf 600" "through leaf 100"
  check "it is in no context" "$(calls outer middle)" = 0

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

begin "what is left out is not counted"
filtered plain --exact --not middle
"$REPORT" --coverage "$profile" | grep -q 'left out by --only or --not .*middle' ||
  fail "the report does not say why"

begin "bad patterns"
launcher_refuses 2 'bad pattern "re:("' --not 're:(' true
launcher_refuses 2 'without ";"' --only 'a;b' true
launcher_refuses 2 'expected a pattern' --only '' true
