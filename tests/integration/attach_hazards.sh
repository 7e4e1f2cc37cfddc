#!/bin/bash
# fble-prof attach while locks are held, or signals and faults come, that its calls in the program
# may wait for or take away. Nothing tells the moment, so each way is tried again and again.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
needs_tracing
library=$PROGRAMS/first.plain

# went_well: the program ends as without a profiler.
went_well() {
  ended
  check "what the program says" "$(cat "$dir/out")" = "done"
}
# again OPTIONS...: attaches and detaches while the program runs.
again() {
  local status
  while kill -0 "$pid" 2>/dev/null && ! grep -q "done" "$dir/out"; do
    timeout -s KILL 30 "$FBLE_PROF" attach "$@" -o "$profile" "$pid" 2>"$dir/attach.err"
    status=$?
    # Or the program is ending.
    [ $status -le 1 ] || fail "attach $*: status $status: $(cat "$dir/attach.err")"
    timeout -s KILL 30 "$FBLE_PROF" detach "$pid" 2>/dev/null
  done
}

# A first attach loads the recorder, which takes the loader's locks and allocates.
for way in forks users; do
  for try in 1 2 3; do
    begin "a program that $way, $try"
    started "$PROGRAMS/attach_hazards.plain" $way
    again
    went_well
  done
done
for way in handler sections; do
  for option in --leaves --exact; do
    begin "$way, $option"
    started "$PROGRAMS/attach_hazards.plain" $way "$library"
    again "$option"
    went_well
  done
done

begin "another thread is loading a library, which waits for the main thread"
started "$PROGRAMS/attach_hazards.plain" loads "$PROGRAMS/waits_for_main.plain"
refused="another of its threads is loading a library: try again"
"$FBLE_PROF" attach -o "$profile" "$pid" 2>"$dir/attach.err"
check "the status" $? = 1
check "the reason" "$(sed 's/.*: \(another .*\)/\1/' "$dir/attach.err")" = "$refused"
went_well
