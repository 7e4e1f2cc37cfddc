#!/bin/bash
# A guard that needs no quiet machine: the instructions of a hooked call, an API call and a report,
# and the instructions and memory lines of a call in a large program, as callgrind counts them, must
# not grow. The limits are in tests/bench/instruction_budget.txt; a value more than 5 % above its
# limit fails. BUDGET_UPDATE=1 writes the measured values there.
. "$(dirname "$0")/lib.sh"
: "${SOURCE:?directory of the source}" "${BUILD:?build directory}"
command -v valgrind >/dev/null || { skip "no valgrind"; exit 77; }
budget=$SOURCE/tests/bench/instruction_budget.txt
measured=$work/measured
begin "instructions"

# instructions_of [VARIABLE=VALUE...] -- COMMAND...: the instructions of the whole run.
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
  printf '%s: %s, budget %s\n' "$name" "$value" "${kept:-none}"
  [ -z "${BUDGET_UPDATE:-}" ] || return 0
  [ -n "$kept" ] || { fail "$name has no budget"; return 0; }
  awk -v v="$value" -v k="$kept" 'BEGIN { exit !(v <= k * 1.05) }' ||
    fail "$name takes $value, its budget is $kept"
  awk -v v="$value" -v k="$kept" 'BEGIN { exit !(v < k * 0.95) }' &&
    printf '%s got better: BUDGET_UPDATE=1 keeps it so\n' "$name"
  return 0
}

# per_call PROGRAM [VARIABLE=VALUE...]: instructions per call, from two runs of different length, so
# that start and end cancel out. Clock ticks: no signals, the same count on every run.
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
# %e: valgrind's own programs, which also preload the library, write elsewhere.
preloaded=("LD_PRELOAD=$LIB" "FBLEPROF_OUT=$dir/%e" FBLEPROF_CLOCK=ticks)

# hooked_call NAME PROGRAM PLAIN_PROGRAM CALLER CALLEE [OTHERS]: the instructions that the hook adds,
# including its call. The program prints the calls of the pair and OTHERS more.
hooked_call() {
  local with without
  with=$(per_call "$2" "${preloaded[@]}")
  without=$(per_call "$3")
  compare "$1" "$(awk -v a="$with" -v b="$without" 'BEGIN { printf "%.1f", a - b }')"
  # A name per process: the newest is the longer run's.
  profile=$(find "$dir" -name "$2*" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
  # main calls fib once.
  local expected
  expected=$("$PROGRAMS/$3" 20)
  check "$1: every call was counted" "$(calls "$4" "$5")" = $((expected - ${6:-0}))
}
hooked_call __fentry__ count.fentry count.plain fib fib 1
hooked_call mcount count.mcountc count.plain fib fib 1
hooked_call cyg_enter_and_exit count.cyg count.plain fib fib 1
hooked_call api_enter_and_leave count_blocks.plain count.plain fib fib 1
hooked_call qsort_callback count_sorted.fentry count_sorted.plain sort compare
compare api_absent "$(awk -v a="$(per_call count_blocks.plain)" -v b="$(per_call count.plain)" \
  'BEGIN { printf "%.1f", a - b }')"

# A call that the cache does not answer: 300 functions call each other at random, in more contexts than
# the cache has slots. The second round of the same walks finds each context, the first makes them too.
# The processor's caches are of one size here, whatever the machine has: what misses the first level is
# a line that a call touches anew.
python3 "$SOURCE/tests/bench/large_program.py" --functions 300 >"$dir/large.c"
gcc -O1 -pg -mfentry "$dir/large.c" -o "$dir/large.fentry" -pthread || fail "large.fentry was not built"
gcc -O1 "$dir/large.c" -o "$dir/large.plain" -pthread || fail "large.plain was not built"
# shellcheck disable=SC2034  # large_call reads them by their names
large_calls=() plain_ir=() plain_lines=() hooked_ir=() hooked_lines=()
large_preloaded=("LD_PRELOAD=$LIB" "FBLEPROF_OUT=$dir/%e.profile" FBLEPROF_CLOCK=ticks)
# Uses the same addresses on every run, if permitted.
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=()

# costs_of ROUNDS PROGRAM [VARIABLE=VALUE...]: calls, instructions, first-level misses of data.
costs_of() {
  local rounds=$1 program=$2
  shift 2
  "${fixed[@]}" env "$@" valgrind --tool=callgrind --callgrind-out-file=/dev/null --cache-sim=yes \
    --D1=32768,8,64 --LL=1048576,16,64 "$dir/$program" 20000 1 "$rounds" \
    2>"$dir/valgrind" >"$dir/stdout" </dev/null || fail "$program under valgrind: $(tail -n 3 "$dir/valgrind")"
  # Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
  awk -v calls="$(cat "$dir/stdout")" '/Collected :/ { print calls, $4, $8 + $9 }' "$dir/valgrind"
}
for rounds in 0 1 2; do
  read -r "large_calls[$rounds]" "plain_ir[$rounds]" "plain_lines[$rounds]" \
    <<<"$(costs_of "$rounds" large.plain)"
  read -r "large_calls[$rounds]" "hooked_ir[$rounds]" "hooked_lines[$rounds]" \
    <<<"$(costs_of "$rounds" large.fentry "${large_preloaded[@]}")"
done
profile=$dir/large.fentry.profile
summary_field() { "$REPORT" --summary --format json "$profile" | sed "s/.*\"$1\":\\([0-9]*\\).*/\\1/"; }
contexts=$(summary_field node_count)
# main and the function that walks are hooked, too.
check "large: every call was counted" "$(summary_field calls)" = $((large_calls[2] + 2))

# large_call NAME HOOKED PLAIN: a call that finds its context, and what is made with a context beyond it.
large_call() {
  local -n hooked=$2 plain=$3
  compare "large_call_$1" "$(awk -v a=$((hooked[2] - hooked[1] - plain[2] + plain[1])) \
    -v n=$((large_calls[2] - large_calls[1])) 'BEGIN { printf "%.2f", a / n }')"
  compare "large_context_$1" "$(awk -v a=$((2 * hooked[1] - hooked[0] - hooked[2])) -v n="$contexts" \
    'BEGIN { printf "%.2f", a / n }')"
}
large_call instructions hooked_ir plain_ir
large_call lines hooked_lines plain_lines

# Reports: instructions per node of a profile of some 20,000. Uses the same addresses on every run,
# if permitted; the count depends on how the report was compiled.
if grep -q '^CMAKE_BUILD_TYPE:STRING=RelWithDebInfo' "$BUILD/CMakeCache.txt"; then
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
