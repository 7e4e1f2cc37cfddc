#!/bin/bash
# Code without hooks below hooked functions and blocks: one tree, with the shares of the same
# program without hooks and exact counts.
. "$(dirname "$0")/lib.sh"

libc() {
  "$REPORT" --by module --format csv "$profile" |
    awk -F, '/libc\.so/ { own += $2 } NR > 1 { sum += $2 } END { printf "%.3f\n", 100 * own / sum }'
}
# paths: a line for each context, "depth name calls sampled".
contexts() { "$REPORT" --format csv "$profile" | tail -n +2; }

parts=(libc malloc free copy)
shares() {
  local part
  libc
  for part in "${parts[@]:1}"; do dominated "$part"; done
}
# shares_alone: in `alone`, those of a run of the program without hooks.
shares_alone() {
  same "$PROGRAMS/natives.plain" 400
  verified "$profile"
  mapfile -t alone < <(shares)
  check "libc has most of the time (${alone[0]} %)" "${alone[0]%.*}" -ge 60
}
margin_of() { share_margin "${before[$1]}" $(($1 == 0 ? 3 : 2)); }
# are_near SHARES: they agree with those of the run without hooks before.
are_near() {
  local i
  local -n compared=$1
  for i in "${!parts[@]}"; do
    is_near "${compared[i]}" "${before[i]}" "$(margin_of "$i")" || return 1
  done
}
# compare_shares MODE: leaves the profile of the mode's run. A busy machine changes its speed, and
# memory does not slow down as the processor does: if it did before the run with hooks, or after
# it, all runs are tried again. It may do so even in that run, and back.
compare_shares() {
  local i alone before shares
  for i in 1 2 3 4 5 6; do
    shares_alone
    before=("${alone[@]}")
    same "$PROGRAMS/natives.$1" 400
    expected
    mapfile -t shares < <(shares)
    cp "$profile" "$dir/hooked"
    shares_alone
    cp "$dir/hooked" "$profile"
    are_near alone && are_near shares && break
  done
  for i in "${!parts[@]}"; do
    near "${parts[i]}'s share" "${shares[i]}" "${before[i]}" "$(margin_of "$i")"
  done
}

for mode in fentry mcountc cyg; do
  begin "$mode"
  settings=(FBLEPROF_LEAVES=1)
  compare_shares "$mode"
  "$REPORT" --block malloc "$profile" | has_text 'allocate → malloc' ||
    fail "malloc does not stand below its caller"
  "$REPORT" --annotate malloc "$profile" | has_text 'libc.so' || fail "malloc has no code"
  for view in '' --self --edges '--block malloc' --hot; do
    # shellcheck disable=SC2086
    "$REPORT" $view "$profile" | has_text '·.*malloc\|·.*copy\|·.*compare\|· *no hook' ||
      fail "$view: sampled calls look counted"
  done
  "$REPORT" --self --format json "$profile" | python3 -c '
import json, sys
rows = {row["name"]: row for row in json.load(sys.stdin)["rows"]}
sys.exit(not rows["malloc"]["sampled"] or rows["compare"]["sampled"])' ||
    fail "--self does not tell what was counted"
  "$REPORT" --self --format csv "$profile" >"$dir/self"
  python3 - "$dir/self" <<'END' || fail "qsort, which calls compare back, is not marked as a bound"
import csv, sys
rows = {row["name"]: row for row in csv.DictReader(open(sys.argv[1]))}
sys.exit(any(rows[name]["dominated_is_bound"] != bound
             for name, bound in {"qsort_r": "1", "compare": "0", "malloc": "0"}.items()))
END
  contexts | has_text ',compare,.*node,0' || fail "compare's calls look sampled"
  contexts | lacks_text '\[unwound\]' || fail "a part of the tree stands apart"

  begin "$mode, without what is below"
  settings=(FBLEPROF_NATIVE_BELOW=off)
  same "$PROGRAMS/natives.$mode" 20
  expected
  contexts | lacks_text ',malloc,' || fail "malloc is in the tree"
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
contexts | lacks_text '\[unwound\]' || fail "a part of the tree stands apart"
check "memcpy has the time, not the blocks" "$(share b | cut -d. -f1)" -le 1

begin "a stack of 100,000 frames"
settings=()
same "$PROGRAMS/deep_stack.plain" 100000
verified "$profile"
contexts | lacks_text '\[truncated\]' || fail "the stack has no older half"
for path in main,first,down main,second,down down,one down,other; do
  "$REPORT" --path "$path" "$profile" >/dev/null 2>&1 || fail "no path $path"
done
near_share "the share of the first half" "$(dominated first)" 50 3

begin "generated code with frame pointers"
same "$PROGRAMS/generated.plain"
contexts | lacks_text '\[truncated\]' || fail "the walk ends at code without an unwind table"
"$REPORT" --path main,caller "$profile" >/dev/null 2>&1 || fail "no path to the caller"
near_share "the caller's share" "$(dominated caller)" 100 3

for words in few many; do
  begin "frame pointers that lead above the stack, $words arguments"
  [ $words = few ] || settings+=(MANY="$(printf '%0100000d' 0)")
  same "$PROGRAMS/generated.plain" above
  check "it ends well" "$(cat "$dir/profiled.status")" = 'exit 0'
  verified "$profile"
  check "it was sampled there" "$(fact samples)" -gt 50
done

# has_cost A,B,...: a path with these functions in sequence has samples.
has_cost() {
  local cost
  cost=$("$REPORT" --path "$1" --format csv "$profile" 2>&1 | grep '^step' | tail -n 1 | cut -d, -f4)
  check "$1 has time" "${cost:-0}" -gt 0
}
has_no_cost() {
  local cost
  cost=$("$REPORT" --path "$1" --format csv "$profile" 2>/dev/null | grep '^step' | tail -n 1 | cut -d, -f4)
  check "$1 has no time" "${cost:-0}" = 0
}

begin "fibers, signal stacks and parts"
same "$PROGRAMS/natives_apart.plain" 60
verified "$profile"
contexts | lacks_text '\[truncated\]' || fail "plain: a fiber's walk does not end where it begins"
for path in plain_body,helper,grind hooked_body,in_fiber,helper,grind plain_handler,helper,grind; do
  has_cost "$path"
done
for mode in fentry mcountc cyg; do
  for sites in 0 1; do
    [ "$mode.$sites" = mcountc.0 ] || [ "$mode.$sites" = cyg.0 ] && continue
    begin "fibers, signal stacks and parts, $mode, call sites $sites"
    settings=(FBLEPROF_CALLSITES="$sites")
    same "$PROGRAMS/natives_apart.$mode" 60
    expected
    contexts | lacks_text '\[truncated\]\|\[unwound\]' || fail "a part of the tree stands apart"
    for path in main,run_fiber,plain_body,helper,grind \
      main,run_fiber,hooked_body,in_fiber,helper,grind \
      main,interrupted,hooked_handler,in_handler,helper,grind main,interrupted,raise plain_handler,helper,grind \
      main,two_places,helper,grind main,two_places,grind main,through_a_pointer,helper,grind \
      main,parted,with_a_part,unlikely,grind; do
      has_cost "$path"
    done
    has_no_cost hooked_body,helper
    has_no_cost returned,helper
    has_no_cost returned,grind
    "$REPORT" --path main,two_places,helper "$profile" | has_text '· *→ *helper' ||
      fail "--path: sampled calls look counted"
    "$REPORT" --path main,two_places,helper --format csv "$profile" |
      has_text '^step,two_places,1,.*,0$' || fail "--path: counted calls look sampled"
    places=$("$REPORT" --call-sites=two_places --format csv "$profile" | grep -c '^two_places,helper,.*,1$')
    check "places that call helper, in call-site mode $sites" "$places" = $((sites == 1 ? 3 : 1))
  done
done
