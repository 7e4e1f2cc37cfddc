#!/bin/bash
# What a hooked call, an API call and a report cost in instructions, as callgrind counts them, does not
# grow: a guard that needs no quiet machine. The figures stand in tests/bench/instruction_budget.txt;
# more than 5 % above one fails. BUDGET_UPDATE=1 writes the measured ones there.
. "$(dirname "$0")/lib.sh"
: "${SOURCE:?directory of the source}" "${BUILD:?build directory}"
command -v valgrind >/dev/null || { skip "no valgrind"; exit 77; }
budget=$SOURCE/tests/bench/instruction_budget.txt
measured=$work/measured
begin "instructions"

# instructions_of [VARIABLE=VALUE...] -- COMMAND...: how many the whole run took.
instructions_of() {
  local environment=()
  while [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  shift
  env "${environment[@]}" valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" \
    2>"$dir/valgrind" >"$dir/stdout" </dev/null || fail "$* under valgrind: $(tail -n 3 "$dir/valgrind")"
  awk '/Collected :/ { print $4 }' "$dir/valgrind"
}

# compare NAME VALUE: against the budget.
compare() {
  local name=$1 value=$2 kept
  printf '%-28s %s\n' "$name" "$value" >>"$measured"
  kept=$(awk -v name="$name" '$1 == name { print $2 }' "$budget")
  printf '%s: %s instructions, budget %s\n' "$name" "$value" "${kept:-none}"
  [ -z "${BUDGET_UPDATE:-}" ] || return 0
  [ -n "$kept" ] || { fail "$name has no budget"; return 0; }
  awk -v v="$value" -v k="$kept" 'BEGIN { exit !(v <= k * 1.05) }' ||
    fail "$name takes $value instructions, its budget is $kept"
  awk -v v="$value" -v k="$kept" 'BEGIN { exit !(v < k * 0.95) }' &&
    printf '%s got better: BUDGET_UPDATE=1 keeps it so\n' "$name"
  return 0
}

# per_call PROGRAM [VARIABLE=VALUE...]: instructions a call, from two runs of different length, so that
# start and end fall out. Clock ticks: no signals, the same count on every run.
per_call() {
  local program=$1 n calls=() count=()
  shift
  for n in 12 20; do
    count+=("$(instructions_of "$@" -- "$PROGRAMS/$program" "$n")")
    calls+=("$(cat "$dir/stdout")")
  done
  awk -v a="${count[0]}" -v b="${count[1]}" -v m="${calls[0]}" -v n="${calls[1]}" \
    'BEGIN { printf "%.3f", (b - a) / (n - m) }'
}
# %e: valgrind's own programs, which are preloaded too, write elsewhere.
preloaded=("LD_PRELOAD=$LIB" "FBLEPROF_OUT=$dir/%e" FBLEPROF_CLOCK=ticks)

# hooked_call NAME PROGRAM PLAIN_PROGRAM: what the hook adds, the instruction that calls it included.
hooked_call() {
  local with without
  with=$(per_call "$2" "${preloaded[@]}")
  without=$(per_call "$3")
  compare "$1" "$(awk -v a="$with" -v b="$without" 'BEGIN { printf "%.1f", a - b }')"
  # main calls fib once. A name per process: the newest is the longer run's.
  profile=$(find "$dir" -name "$2*" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
  check "$1: every call was counted" "$(calls fib fib)" = "$(($("$PROGRAMS/count.plain" 20) - 1))"
}
hooked_call __fentry__ count.fentry count.plain
hooked_call mcount count.mcountc count.plain
hooked_call cyg_enter_and_exit count.cyg count.plain
hooked_call api_enter_and_leave count_blocks.plain count.plain
compare api_absent "$(awk -v a="$(per_call count_blocks.plain)" -v b="$(per_call count.plain)" \
  'BEGIN { printf "%.1f", a - b }')"

# Reports: instructions a node of a profile of some 20,000. The same addresses on every run, where
# that is allowed; the count depends on how the report was compiled.
if grep -q '^CMAKE_BUILD_TYPE:STRING=RelWithDebInfo' "$BUILD/CMakeCache.txt"; then
  fixed=(setarch -R)
  "${fixed[@]}" true 2>/dev/null || fixed=()
  profile=$dir/maze
  "${fixed[@]}" env "${preloaded[@]}" "FBLEPROF_OUT=$profile" "$PROGRAMS/maze.fentry" 2000 \
    >/dev/null || fail "maze did not run"
  verified "$profile"
  nodes=$("$REPORT" --summary --format json "$profile" | sed 's/.*"node_count":\([0-9]*\).*/\1/')
  per_node() {
    local name=$1
    shift
    compare "$name" "$(awk -v a="$(instructions_of -- "$REPORT" "$@" "$profile")" -v n="$nodes" \
      'BEGIN { printf "%.0f", a / n }')"
  }
  per_node report_load_a_node --summary
  per_node report_self_a_node --self
  per_node report_select_a_node --self --select '*room<500>*'
  per_node report_tree_a_node --metric calls
  per_node report_pprof_a_node --export pprof -o "$dir/pprof"
else
  skip "reports: budgets are kept for RelWithDebInfo"
fi

if [ -n "${BUDGET_UPDATE:-}" ] && [ ! -s "$work/failures" ]; then
  { sed -n '/^#/p' "$budget"; cat "$measured"; } >"$work/budget" && cp "$work/budget" "$budget"
fi
