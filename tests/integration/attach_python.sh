#!/bin/bash
# fble-prof attach to a running Python: the functions of its scripts, which was told nothing.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
needs_tracing
python=/usr/bin/python3
script=$(cd "$here/../programs/python" && pwd)/waits_for_stop.py
[ -x "$python" ] || { echo "no $python"; exit 77; }

# start_script COMMAND...: runs the script, in two threads.
start_script() {
  rm -f "$dir/stop"
  started "$@" "$python" "$script" "$dir/stop"
}
stop_script() {
  touch "$dir/stop"
  ended
}
# inclusive NAME: the time of a function with all it calls, in ns.
inclusive() {
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null |
    awk -F, -v name="$1" '$1 == name { print $3 }' | head -n 1
}
shares_are_right() {
  local one two three all
  one=$(inclusive one) two=$(inclusive Worker.two) three=$(inclusive three)
  all=$((${one:-0} + ${two:-0} + ${three:-0}))
  [ $all -gt 0 ] || fail "no function of the script is in the tree"
  near_share "one" "$(awk -v p="${one:-0}" -v n="$all" 'BEGIN { print 100 * p / n }')" 16.67 4
  near_share "two" "$(awk -v p="${two:-0}" -v n="$all" 'BEGIN { print 100 * p / n }')" 33.33 4
  near_share "three" "$(awk -v p="${three:-0}" -v n="$all" 'BEGIN { print 100 * p / n }')" 50 4
}
# catches SIGNAL: whether the program, or we for it, catches this signal.
catches() { [ $((0x$(awk '/^SigCgt/ { print $2 }' "/proc/$pid/status") >> ($1 - 1) & 1)) = 1 ]; }

begin "the functions of two threads, detached and attached again"
start_script
catches 11 && fail "the interpreter catches SIGSEGV itself"
attach -o "$profile" "$pid"
check "nothing is said about the script" "$(grep -c 'scripts' "$dir/attach.err")" = 0
catches 11 || fail "reads of memory that changes are not secured"
sleep 1.5
detach "$pid"
catches 11 && fail "SIGSEGV is not the program's again"
verified "$profile"
shares_are_right
"$REPORT" --all "$profile" >"$dir/tree" 2>/dev/null
has_text 'Worker.two  split.py:' "$dir/tree" || fail "no file and line"
check "threads" "$(fact threads)" = 2
check "the loop is not shown" "$("$REPORT" --edges --all --format csv "$profile" 2>/dev/null |
  grep -c '^\(main\|one\|three\),_PyEval_EvalFrameDefault,')" = 0

# Again; and the program catches SIGSEGV meanwhile.
for _ in 1 2 3; do
  attach "$pid"
  detach "$pid"
done
attach "$pid"
kill -USR1 "$pid"  # it sets its handler
sleep 0.5
kill -SEGV "$pid"
sleep 1
stop_script
check "it got the signal" "$(cat "$dir/out")" = "[11]"
verified "$profile"
shares_are_right

begin "not wanted"
start_script
attach --no-python -o "$profile" "$pid"
sleep 0.5
stop_script
verified "$profile"
check "functions of the script" "$(inclusive one)" = ""
has_text 'PyEval' <("$REPORT" --all "$profile" 2>/dev/null) || fail "the interpreter's functions are not there"

begin "with the interpreter's own functions"
start_script
attach --native -o "$profile" "$pid"
sleep 0.7
stop_script
"$REPORT" --edges --all --format csv "$profile" 2>/dev/null >"$dir/edges"
has_text '^_PyEval_EvalFrameDefault,<module>,' "$dir/edges" || fail "the loop is not shown"

begin "each call of the interpreter's functions counted"
start_script
attach --exact --duration 300ms -o "$profile" "$pid"
stop_script
verified "$profile"
check "functions of the script" "$(inclusive one)" = ""

begin "a process that sees other files"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  start_script unshare -m sh -c "mount -t tmpfs none '$(dirname "$LIB")' && exec \"\$@\"" sh
  sleep 0.3
  attach -o "$profile" "$pid"
  sleep 1
  stop_script
  verified "$profile"
  shares_are_right
else
  skip "no namespaces"
fi

begin "a program without Python"
started "$PROGRAMS/phases.plain" 60 work
attach -o "$profile" "$pid"
check "libraries of ours" "$(grep -o 'libfbleprof[a-z_]*' "/proc/$pid/maps" | sort -u | tr '\n' ' ')" = "libfbleprof "
catches 11 && fail "its SIGSEGV is caught"
touch "$dir/stop"
ended
