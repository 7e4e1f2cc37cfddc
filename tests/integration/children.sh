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

# reports NAME...: in one report of the first profile, and in one of the directory.
reports() {
  local where name
  for where in "$dir/profiles/mlmon.out" "$dir/profiles"; do
    "$REPORT" --by process "$where" >"$dir/report" 2>&1 || fail "$where: $(cat "$dir/report")"
    for name; do
      has_text "$name" "$dir/report" || fail "$name is not in the report of $where"
    done
  done
}

begin "a chain of execs"
cat >"$dir/python3" <<'END'
#!/bin/bash
for ((i = 0; i < 60000; ++i)); do x=$((x + i)); done
exec env A=1 /usr/bin/python3 "$@"
END
chmod +x "$dir/python3"
recorded "$dir/python3" -c 'print(sum(i * i for i in range(600000)))'
check "it ran" "$(cat "$dir/out")" = 71999820000100000
reports bash python3

begin "a pipeline, and make"
cp "$PROGRAMS/phases.plain" "$dir/worker"
printf 'all: one two three\n%%:\n\t@./worker 0.1 | cat && : $@\n' >"$dir/Makefile"
recorded make -s -j2
"$REPORT" --by process "$dir/profiles" >"$dir/report" 2>&1 || fail "the directory: $(cat "$dir/report")"
check "three workers in one report" "$(grep -c worker "$dir/report")" -ge 3
"$REPORT" "$dir/profiles/mlmon.out" 2>&1 >/dev/null |
  has_text "fble-prof-report --children $dir/profiles/mlmon.out shows all of them" ||
  fail "the report of make alone does not say how to see the rest"
"$REPORT" --by process --children "$dir/profiles/mlmon.out" >"$dir/report" 2>&1 || fail "--children: $(cat "$dir/report")"
check "three workers with --children" "$(grep -c worker "$dir/report")" -ge 3

begin "children without exec"
same=$("$PROGRAMS/processes.fentry" 2>/dev/null | sort | head -n 3)
recorded --children none "$PROGRAMS/processes.fentry"
check "they are left out" "$(profiles_in "$dir/profiles" | wc -l)" -le 2
[ -n "$same" ] || skip "nothing to compare"

for mode in fentry plain; do
  for which in all none; do
    begin "signals that end threads that are not attached, $mode, children: $which"
    settings=(FBLEPROF_CHILDREN="$which")
    same "$PROGRAMS/unattached.$mode"
    verified "$profile"
  done
done

# The first profile counts the files beside it, and allows 1000.
counted() { "$REPORT" --raw "$dir/profiles/mlmon.out" | sed -n 's/^header .* children=\([0-9]*\) .*/\1/p'; }
for case in "20 commands that do nothing" "5 commands that compute"; do
  begin "a script that runs $case"
  cp "$PROGRAMS/phases.plain" "$dir/worker"
  command="./worker 0.2 >/dev/null"
  [[ $case = *compute ]] || command=/bin/true
  # A busy machine lets commands that do nothing take longer than two periods, after which they are shown.
  recorded --rate 100 bash -c "for i in {1..${case%% *}}; do $command; done; :"
  files=$(find "$dir/profiles" -name 'mlmon.out.*' | wc -l)
  if [[ $case = *compute ]]; then
    check "each has a file" "$files" -ge 5
  else
    check "few have files" "$files" -lt 10
  fi
  check "as many are counted" "$(counted)" = "$files"
done

# As in a container that is started again: after a moment, the kernel gives its namespace the number
# of the former. The child that execs what cannot be recorded leaves a profile of nothing.
begin "a run with the process ids of the one before"
if unshare -Urpf --mount-proc true 2>/dev/null; then
  echo 'int main(void) { return 0; }' | gcc -xc -static -o "$dir/unrecorded" - || fail "it does not build"
  cp "$PROGRAMS/phases.plain" "$dir/worker"
  mkdir "$dir/profiles"
  for run in first second; do
    (cd "$dir" && unshare -Urpf --mount-proc "$FBLE_PROF" --rate 100 -o "$dir/profiles/mlmon.out" \
      bash -c './unrecorded; ./worker 0.2 >/dev/null; :' 2>"$dir/err") || fail "the $run run: $(cat "$dir/err")"
    check "children of the $run run" "$(find "$dir/profiles" -name 'mlmon.out.*[0-9]' | wc -l)" = 2
    check "as many are counted" "$(counted)" = 2
    sleep 0.5
  done
else
  skip "no namespaces"
fi

begin "a directory without profiles"
"$REPORT" "$dir/plain" >"$dir/out" 2>"$dir/err"
check "status" $? = 2
check "one line" "$(wc -l <"$dir/err")" = 1
