#!/bin/bash
# Of a deep stack that is built anew again and again, the walks' budget is soon used up: the tree
# then has both ends, and says how many frames lie between.
. "$(dirname "$0")/lib.sh"

begin "a stack of 120,000 frames that changes"
same "$PROGRAMS/rebuilt_stack.plain" 120000 1000
verified "$profile"
"$REPORT" --edges --all --format csv "$profile" 2>/dev/null >"$dir/edges.csv"
has_text '^base,\[truncated\],' "$dir/edges.csv" || fail "the older end is not above the gap"
has_text '^\[about [0-9]* frames left out\],\(one\|other\),' "$dir/edges.csv" ||
  fail "the newer end is not below the gap"
left_out=$(sed -n 's/^\[truncated\],\[about \([0-9]*\) frames left out\],.*/\1/p' "$dir/edges.csv")
[ -n "$left_out" ] || fail "it does not say how many frames are left out"
for frames in $left_out; do
  check "a power of two" $((frames & (frames - 1))) = 0
  check "not more than there are" "$frames" -le 122000
done
