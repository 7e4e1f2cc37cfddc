#!/bin/bash
# Everything in one run: CPU time, waits of four kinds, faults and allocations of ten contexts.
. "$(dirname "$0")/lib.sh"
directory=$(dirname "$LIB")

for mode in fentry plain; do
  begin "ten contexts have their amounts, $mode"
  settings=("LD_PRELOAD=$directory/libfbleprof_wait.so:$LIB:$directory/libfbleprof_alloc.so" FBLEPROF_WAITS=1
    FBLEPROF_FAULTS=1 FBLEPROF_ALLOCS=exact)
  profiled "$PROGRAMS/ten.$mode"
  verified "$profile"
  python3 "$here/ten.py" "$dir/profiled.err" "$REPORT" "$profile" || fail "amounts are in other contexts"
done
