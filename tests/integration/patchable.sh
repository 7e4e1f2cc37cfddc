#!/bin/bash
# Programs that leave room for hooks (-fpatchable-function-entry, XRay, -mnop-mcount) are counted, calls of hooks
# are switched off and on while threads run, and the programs behave as they do without us.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}" "${CACHE:?directory for what is fetched and built once}"
oracle=$here/../oracle

for program in notes.patchable notes.patchableclang jumps.patchable throws.patchable \
  throws.patchableclang patched.patchable patched_marked.patchable crowd.patchable; do
  begin "expected of $program"
  same "$PROGRAMS/$program"
  expected
done

begin "what has no room is said"
settings+=(FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/patched.patchable"
check "one line" "$(grep -c 'less than 5 bytes of NOPs' "$dir/profiled.err")" = 1

for program in count.patchable count.patchableclang count.xrayclang count.nopmcount count_fixed.patchable; do
  begin "counts of $program"
  same "$PROGRAMS/$program" 18
  verified "$profile"
  check "all calls are counted" "$(calls fib fib)" = "$(($(cat "$dir/plain.out") - 1))"
done

begin "the same call by libc, for another caller"
export DESCEND_COUNTS=1  # as these functions are counted, too
same "$PROGRAMS/callbacks.patchable"
expected
same "$PROGRAMS/sized.patchable"
expected
unset DESCEND_COUNTS

begin "registers"
same "$PROGRAMS/registers.patchable"
verified "$profile"

for how in endings clone "short 800"; do
  begin "threads, $how"
  # shellcheck disable=SC2086  # words
  same "$PROGRAMS/threads.patchable" $how
  expected
done

begin "a stack deeper than the shadow stack"
same "$PROGRAMS/odd_stacks.patchable" switch
check "it ends well" "$(cat "$dir/profiled.status")" = 'exit 0'
verified "$profile"

begin "forks and other programs"
same "$PROGRAMS/processes.patchable" fork
expected
# shellcheck disable=SC2046  # words
verified $(profiles_in "$dir")
check "one profile a process" "$(profiles_in "$dir" | wc -l)" = 12
begin "forks in a handler"
same "$PROGRAMS/fork_in_handler.patchable"

for host in patchable plain; do
  begin "plugins of a $host host"
  same "$PROGRAMS/plugin_host.$host" "$PROGRAMS/first.patchable" "$PROGRAMS/second.patchable"
  verified "$profile"
  check "calls within the first" "$(calls run_plugin first_leaf)" = 5000
  check "calls within the second" "$(calls run_plugin second_leaf)" = 2500
done

for mode in patchable patchableclang nopmcount fentry mcountc; do
  begin "switched on and off under threads, $mode"
  same "$PROGRAMS/switching.$mode" 2500
  expected
  begin "off from the start, $mode"
  settings+=(FBLEPROF_START=off)
  same "$PROGRAMS/count.${mode%clang}" 15
  verified "$profile"
  check "nothing is counted" "$(fact calls)" = 0
  begin "off from the start, then on, $mode"
  settings+=(FBLEPROF_START=off)
  same "$PROGRAMS/switching.$mode" 1
  expected
done

begin "plugins while recording is off"
settings+=(FBLEPROF_START=off)
for mode in patchable fentry; do
  same "$PROGRAMS/plugin_host.$mode" "$PROGRAMS/first.$mode" "$PROGRAMS/second.$mode"
  check "nothing is counted, $mode" "$(fact calls)" = 0
done

# While recording is off, a function calls nothing: it runs as many instructions as without the
# recorder.
begin "off costs no call"
instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$PROGRAMS/count.$1" 21 2>&1 >/dev/null |
    sed -n 's/.*Collected : //p'
}
if command -v valgrind >/dev/null; then
  for mode in patchable fentry mcountc; do
    export LD_PRELOAD=$LIB FBLEPROF_OUT=$profile FBLEPROF_START=off
    off=$(instructions $mode)
    FBLEPROF_START=on
    on=$(instructions $mode)
    unset LD_PRELOAD FBLEPROF_OUT FBLEPROF_START
    without=$(instructions $mode)
    # fib(21) makes 35,421 calls. With the recorder, start-up takes some more instructions.
    check "on takes more, $mode" "$((on - without))" -gt 700000
    check "off takes no more, $mode: $off against $without" "$((off - without))" -lt 400000
  done
else
  skip "no valgrind"
fi

begin "a system that refuses new code"
same "$PROGRAMS/refusing.plain" 10/2/5=1 10/2/7=1 -- "$PROGRAMS/count.patchable" 15
verified "$profile"
check "it is only sampled" "$(fact calls)" = 0
settings+=(FBLEPROF_VERBOSE=1)
profiled "$PROGRAMS/refusing.plain" 10/2/5=1 10/2/7=1 -- "$PROGRAMS/count.patchable" 15
check "one line says why" "$(grep -c 'only sampled: .*W^X' "$dir/profiled.err")" = 1

begin "what was never entered is known"
same "$PROGRAMS/plugin_host.patchable" "$PROGRAMS/first.patchable" "$PROGRAMS/first.patchable"
for program in plugin_host.patchable first.patchable; do
  check "the functions of $program" "$("$REPORT" --coverage "$profile" |
    grep -c "$program: .* functions with hooks were entered")" = 1
done

begin "counts against callgrind: Lua"
mkdir -p "$CACHE/lua-patchable"
lua=$CACHE/lua-patchable/lua
"$oracle/build_lua" "$CACHE" "$lua" -fpatchable-function-entry=5 -fno-optimize-sibling-calls \
  -fno-reorder-blocks-and-partition || { fail "cannot build Lua"; exit 1; }
same "$lua" "$oracle/workload.lua" 5
verified "$profile"
(trap '' PROF && valgrind --tool=callgrind --compress-strings=no --compress-pos=no \
  --callgrind-out-file="$dir/callgrind.out" "$lua" "$oracle/workload.lua" 5 >/dev/null 2>&1)
output=$(python3 "$oracle/compare_calls.py" "$lua" profile:"$profile" \
  callgrind:"$dir/callgrind.out") || fail "$output"
echo "${output##*$'\n'}"
