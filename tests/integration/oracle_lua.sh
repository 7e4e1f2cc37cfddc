#!/bin/bash
# Call counts of a real program, Lua from Debian's source, against callgrind and gprof: every pair of
# caller and callee, exactly. The same binary and command line for all three.
. "$(dirname "$0")/lib.sh"
: "${CACHE:?directory for what is fetched and built once}"
oracle=$here/../oracle
workload=$oracle/workload.lua

# compare WHAT BINARY ARGUMENTS...: runs compare_calls.py; failures show its last lines.
compare() {
  local what=$1 output
  shift
  if output=$(python3 "$oracle/compare_calls.py" "$@" 2>&1); then
    printf '%s: %s\n' "$what" "$(tail -n 1 <<<"$output")"
  else
    fail "$what: $(tail -n 12 <<<"$output")"
  fi
}

build() { # NAME FLAG...
  local kind=$1
  shift
  mkdir -p "$CACHE/$kind"
  lua=$CACHE/$kind/lua
  "$oracle/build_lua" "$CACHE" "$lua" "$@" || { fail "cannot build Lua"; exit 1; }
}

# glibc's gmon leaves a timer running briefly when it stops: its last signal must not kill.
with_callgrind() {
  (trap '' PROF && cd "$dir" && valgrind --tool=callgrind --compress-strings=no --compress-pos=no \
    --callgrind-out-file="$dir/callgrind.out" "$@" >"$dir/callgrind.stdout" 2>"$dir/callgrind.log") ||
    fail "callgrind: $(tail -n 3 "$dir/callgrind.log")"
  cmp -s "$dir/callgrind.stdout" "$dir/profiled.out" || fail "callgrind's run printed something else"
}

# gcc's .cold parts would make gprof's arcs imprecise, which it keeps per 16 bytes of code.
flags=(-fno-reorder-blocks-and-partition)

begin "Lua, no tail calls, short"
build lua-calls -pg -mfentry -fno-optimize-sibling-calls "${flags[@]}" -- -pg
same "$lua" "$workload" 20
verified "$profile"
with_callgrind "$lua" "$workload" 20
compare "against callgrind" "$lua" profile:"$profile" callgrind:"$dir/callgrind.out"
compare "against gprof" "$lua" profile:"$profile" gmon:"$dir/plain/gmon.out"
check "gprof's own profiling stays off" ! -e "$dir/profiled/gmon.out"

begin "Lua, no tail calls, seconds"
same "$lua" "$workload" 300
verified "$profile"
compare "against gprof" "$lua" profile:"$profile" gmon:"$dir/plain/gmon.out"

# With tail calls callgrind and gprof no longer mean the same by a caller: gprof goes by the return
# address, as we do. (l_alloc is jumped to through a pointer.)
begin "Lua, with tail calls"
build lua-tail -pg -mfentry "${flags[@]}" -- -pg
same "$lua" "$workload" 20
verified "$profile"
with_callgrind "$lua" "$workload" 20
compare "against gprof" "$lua" profile:"$profile" gmon:"$dir/plain/gmon.out"
compare "against callgrind" --no-tail-callees --leave-out=l_alloc "$lua" profile:"$profile" \
  callgrind:"$dir/callgrind.out"

begin "Lua, mcount"
build lua-mcount -pg -fno-optimize-sibling-calls "${flags[@]}" -- -pg
same "$lua" "$workload" 20
verified "$profile"
with_callgrind "$lua" "$workload" 20
compare "against callgrind" "$lua" profile:"$profile" callgrind:"$dir/callgrind.out"

# Inlined functions are hooked too, but callgrind does not see them: so nothing is inlined.
begin "Lua, -finstrument-functions"
build lua-cyg -finstrument-functions -fno-inline -fno-partial-inlining "${flags[@]}"
same "$lua" "$workload" 20
verified "$profile"
with_callgrind "$lua" "$workload" 20
compare "against callgrind" "$lua" profile:"$profile" callgrind:"$dir/callgrind.out"

begin "Lua, killed half-way"
lua=$CACHE/lua-calls/lua
(cd "$dir" && LD_PRELOAD=$LIB FBLEPROF_OUT=$profile exec "$lua" "$workload" 100000) &
sleep 2
kill -KILL $!
wait $! 2>/dev/null
verified "$profile"
check "it says so" "$(fact state)" = killed
check "calls were counted" "$(calls luaV_execute luaD_precall)" -gt 1000
check "time was charged" "$(share luaV_execute | cut -d. -f1)" -ge 10
