#!/bin/bash
# Child processes: which ones are recorded, and their profiles in one report.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"

# recorded ARGS...: records a run; its profiles are in $dir/profiles.
recorded() {
  rm -rf "$dir/profiles"
  mkdir "$dir/profiles"
  (cd "$dir" && "$FBLE_PROF" -o "$dir/profiles/mlmon.out" "$@" >"$dir/out" 2>"$dir/err") ||
    fail "$*: status $?: $(cat "$dir/err")"
}
programs() {
  for file in $(profiles_in "$dir/profiles"); do
    basename "$(python3 "$facts" fact "$file" processes.0.program 2>/dev/null || echo "?")"
  done | sort | uniq -c | awk '{ printf "%s%s", (NR > 1 ? " " : ""), $2 }'
}

begin "which children"
cp "$PROGRAMS/phases.plain" "$dir/worker_one"
cp "$PROGRAMS/phases.plain" "$dir/other"
cat >"$dir/script" <<'END'
./worker_one 0.2
./other 0.2 | ./worker_one 0.2
END
recorded sh "$dir/script"
all=$(profiles_in "$dir/profiles" | wc -l)
check "all of them: $all" "$all" -ge 4
report=$("$REPORT" --by process "$dir/profiles" 2>&1) || fail "the directory: $report"
check "one report has them" "$(grep -c worker_one <<<"$report")" -ge 2
recorded --children none sh "$dir/script"
check "none: the shell alone" "$(profiles_in "$dir/profiles" | wc -l)" = 1
recorded --children 'nothing,work*' sh "$dir/script"
check "by a pattern: the shell and two" "$(profiles_in "$dir/profiles" | wc -l)" = 3
recorded --children none sh -c 'exec ./other 0.2'
"$REPORT" "$dir/profiles" | has_text first || fail "what the program becomes is recorded"

begin "children without exec"
same=$("$PROGRAMS/processes.fentry" 2>/dev/null | sort | head -n 3)
recorded --children none "$PROGRAMS/processes.fentry"
check "they are left out" "$(profiles_in "$dir/profiles" | wc -l)" -le 2
[ -n "$same" ] || skip "nothing to compare"

begin "a directory without profiles"
"$REPORT" "$dir/plain" >"$dir/out" 2>"$dir/err"
check "status" $? = 2
check "one line" "$(wc -l <"$dir/err")" = 1
