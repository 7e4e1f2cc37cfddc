#!/bin/bash
# Code without hooks below hooked functions and blocks: one tree, whose shares are those of the same
# program without hooks, and whose counts are exact.
. "$(dirname "$0")/lib.sh"

libc() {
  "$REPORT" --by module --format csv "$profile" |
    awk -F, '/libc\.so/ { own += $2 } NR > 1 { sum += $2 } END { printf "%.3f\n", 100 * own / sum }'
}
# paths: a line for each context, "depth name calls sampled".
contexts() { "$REPORT" --format csv "$profile" | tail -n +2; }

begin "plain"
settings=(FBLEPROF_LEAVES=1)
same "$PROGRAMS/natives.plain" 400
verified "$profile"
libc_alone=$(libc) malloc_alone=$(dominated malloc)
free_alone=$(dominated free) copy_alone=$(dominated copy)
check "libc has most of the time ($libc_alone %)" "${libc_alone%.*}" -ge 60

for mode in fentry mcountc cyg; do
  begin "$mode"
  settings=(FBLEPROF_LEAVES=1)
  same "$PROGRAMS/natives.$mode" 400
  expected
  near_share "libc's share" "$(libc)" "$libc_alone" 2
  near_share "malloc's share" "$(dominated malloc)" "$malloc_alone" 2
  near_share "free's share" "$(dominated free)" "$free_alone" 2
  near_share "copy's share" "$(dominated copy)" "$copy_alone" 2
  "$REPORT" --block malloc "$profile" | grep -q 'allocate → malloc' ||
    fail "malloc does not stand below its caller"
  "$REPORT" --annotate malloc "$profile" | grep -q 'libc.so' || fail "malloc has no code"
  for view in '' --self --edges '--block malloc' --hot; do
    # shellcheck disable=SC2086
    "$REPORT" $view "$profile" | grep -q '·.*malloc\|·.*copy\|·.*compare\|· *no hook' ||
      fail "$view: sampled calls look counted"
  done
  "$REPORT" --self --format json "$profile" | python3 -c '
import json, sys
rows = {row["name"]: row for row in json.load(sys.stdin)["rows"]}
sys.exit(not rows["malloc"]["sampled"] or rows["compare"]["sampled"])' ||
    fail "--self does not tell what was counted"
  contexts | grep -q ',compare,.*node,0' || fail "compare's calls look sampled"
  contexts | grep -q '\[unwound\]' && fail "a part of the tree stands apart"

  begin "$mode, without what is below"
  settings=(FBLEPROF_NATIVE_BELOW=off)
  same "$PROGRAMS/natives.$mode" 20
  expected
  contexts | grep -q ',malloc,' && fail "malloc is in the tree"
done

begin "blocks"
same "$PROGRAMS/runtime.plain" 150
verified "$profile"
near "evaluations of a" "$(calls chunk a)" 150 0
near "evaluations of b" "$(calls a b)" 150 0
for path in chunk,a,b,evaluate,get chunk,c,b,evaluate,get chunk,a,evaluate,get; do
  "$REPORT" --path "$path" "$profile" >"$dir/path" 2>&1 || fail "no path $path: $(cat "$dir/path")"
done
"$REPORT" --path b,main "$profile" >/dev/null 2>&1 && fail "a block repeats what is older than it"
contexts | grep -q '\[unwound\]' && fail "a part of the tree stands apart"
check "memcpy has the time, not the blocks" "$(share b | cut -d. -f1)" -le 1

begin "a stack of 100,000 frames"
settings=()
same "$PROGRAMS/deep_stack.plain" 100000
verified "$profile"
contexts | grep -q '\[truncated\]' && fail "the stack has no older half"
for path in main,first,down main,second,down down,one down,other; do
  "$REPORT" --path "$path" "$profile" >/dev/null 2>&1 || fail "no path $path"
done
near_share "the share of the first half" "$(dominated first)" 50 3

begin "generated code with frame pointers"
same "$PROGRAMS/generated.plain"
contexts | grep -q '\[truncated\]' && fail "the walk ends at code without an unwind table"
"$REPORT" --path main,caller "$profile" >/dev/null 2>&1 || fail "no path to the caller"
near_share "the caller's share" "$(dominated caller)" 100 3
