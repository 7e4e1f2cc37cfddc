#!/bin/bash
# Where no profile can be made, the recorder and the libraries beside it do nothing, and programs run as without them.
. "$(dirname "$0")/lib.sh"
beside=$(dirname "$LIB")
none=/nowhere/mlmon.out

# nothing PROGRAM ARGS...: as plain, and no file.
nothing() {
  same "$@"
  check "no file" "$(profiles_in "$dir" | wc -l)" = 0
}

begin "a file that cannot be made"
for program in "notes.fentry" "notes.cyg" "threads.fentry many" "processes.fentry fork" "coroutines.fentry" \
  "jumps.fentry" "sigprof.fentry start" "sigprof.fentry default" "altstack.fentry below" \
  "plugin_host.fentry $PROGRAMS/first.fentry $PROGRAMS/second.fentry"; do
  read -ra words <<<"$program"
  settings=("FBLEPROF_OUT=$none")
  nothing "$PROGRAMS/${words[0]}" "${words[@]:1}"
done

begin "the C API"
"${CC:-gcc}" -O1 -g -pg -mfentry -pthread -I"$SOURCE/libprof/include" "$here/../programs/api.c" -o "$dir/api" ||
  fail "cannot build api.c"
plain "$dir/api"
settings=("FBLEPROF_OUT=$none")
profiled "$dir/api"
for what in status out; do
  cmp "$dir/plain.$what" "$dir/profiled.$what" || fail "$what differs"
done

begin "allocations"
for program in "allocates.fentry containers" "allocates.plain fails" "allocates.plain threads"; do
  read -ra words <<<"$program"
  settings=("FBLEPROF_OUT=$none" "LD_PRELOAD=$beside/libfbleprof_alloc.so:$LIB" FBLEPROF_ALLOCS=exact)
  nothing "$PROGRAMS/${words[0]}" "${words[@]:1}"
  # Without the recorder.
  settings=("LD_PRELOAD=$beside/libfbleprof_alloc.so")
  nothing "$PROGRAMS/${words[0]}" "${words[@]:1}"
done

begin "waits"
printf 'yz 42\n' >"$dir/in"
for preloaded in "$beside/libfbleprof_wait.so:$LIB" "$beside/libfbleprof_wait.so"; do
  settings=("FBLEPROF_OUT=$none" "LD_PRELOAD=$preloaded" FBLEPROF_WAITS=1)
  for program in each_call each_call_checked; do
    # shellcheck disable=SC2016  # for the inner shell
    nothing sh -c 'exec "$1" <"$2"' sh "$PROGRAMS/$program.plain" "$dir/in"
  done
  nothing "$PROGRAMS/waits.plain" locks
  nothing "$PROGRAMS/edge_calls.plain" signals processes threads descriptors system
done

begin "a profile with faults in several places"
profiled "$PROGRAMS/notes.fentry"
python3 - "$profile" <<'END'
import os, sys
size = os.path.getsize(sys.argv[1])
with open(sys.argv[1], "r+b") as file:
    for part in range(1, 6):
        file.seek(size * part // 7)
        file.write(b"\xff" * 64)
END
"$REPORT" "$profile" >"$dir/out" 2>"$dir/err" || fail "what is whole is not shown"
check "one line" "$(wc -l <"$dir/err")" = 1
has_text "damaged: .* more fault" "$dir/err" || fail "it does not tell of the others"
