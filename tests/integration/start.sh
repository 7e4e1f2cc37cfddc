#!/bin/bash
# What a start costs beyond the program's own, in figures that hardly depend on other work on the
# machine: system calls, and the largest resident set. tests/bench/small.py measures the time.
. "$(dirname "$0")/lib.sh"

# costs_of VARIABLE...: of `true`. The least of some runs: libraries lie at random places, and in two
# of a hundred runs there is no free memory near them, which the recorder seeks by further calls.
costs_of() {
  local status
  for _ in 1 2 3; do
    "$PROGRAMS/system_calls.plain" "$@" /bin/true 2>"$dir/err"
    status=$?
  done >"$dir/costs"
  sort -n "$dir/costs" | head -n 1
  return $status
}

begin "a preloaded true"
costs=$(costs_of)
[ $? != 77 ] || { skip "programs may not be traced"; exit 77; }
read -r plain_calls plain_kb <<<"$costs"
read -r calls kb <<<"$(costs_of "LD_PRELOAD=$LIB" "FBLEPROF_OUT=$profile")"
verified "$profile"
check "they were counted" "${plain_calls:-0}" -gt 10
check "under the profiler, too" "${calls:-0}" -gt 10
printf 'system calls: %d, plain %d; kB: %d, plain %d\n' "$calls" "$plain_calls" "$kb" "$plain_kb"
# Its own signals are more than fifty of them.
check "system calls beyond plain's" $((calls - plain_calls)) -le 195
check "kB beyond plain's" $((kb - plain_kb)) -le 1536

beside=$(dirname "$LIB")
for given in "FBLEPROF_WAITS=1 LD_PRELOAD=$LIB:$beside/libfbleprof_wait.so" \
  "FBLEPROF_ALLOCS=exact LD_PRELOAD=$LIB:$beside/libfbleprof_alloc.so"; do
  begin "with ${given%% *}"
  # shellcheck disable=SC2086
  read -r calls kb <<<"$(costs_of $given FBLEPROF_OUT="$profile")"
  verified "$profile"
  check "kB beyond plain's, of ${kb:-none}" $((kb - plain_kb)) -le 1536
  # The search for lost blocks reads neither the recorder's own tables nor pages never written.
  check "system calls beyond plain's, of ${calls:-none}" $((calls - plain_calls)) -le 310
done
