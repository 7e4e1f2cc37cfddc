#!/bin/bash
# fble-prof attach and detach while one of their system calls fails: each ends, says what it could
# not do, and does the program no harm; the next one works.
#   STRIDE   every how many calls of a kind one fails (23; 1: each)
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
needs_tracing
TIMEOUT=500
stride=${STRIDE:-23}

# fails CALL=ERROR PLACE ARGS...: fble-prof, of whose system calls that one fails (refusing_once.c).
fails() {
  local rule=$1 place=$2
  shift 2
  timeout -k 5 60 "$PROGRAMS/refusing_once.plain" "$rule" "$place" "$dir/count" -- "$FBLE_PROF" "$@" \
    >"$dir/tool.out" 2>"$dir/tool.err"
  status=$?
  [ $status -le 1 ] || fail "$rule, call $place: $*: status $status: $(cat "$dir/tool.err")"
  [ $status = 0 ] || [ -s "$dir/tool.err" ] || fail "$rule, call $place: $* fails silently"
  kill -0 "$pid" 2>/dev/null || fail "$rule, call $place: $*: the program has ended: $(cat "$dir/err")"
}
# The calls of a kind that the command makes, in $count.
count_of() {
  fails "$1=5" 0 "${@:2}"
  check "$*: $(cat "$dir/tool.err")" $status = 0
  count=$(cat "$dir/count")
}
unchanged() {
  text_of >"$dir/text.now"
  cmp -s "$dir/text.before" "$dir/text.now" || fail "$1: the code is not as it was"
}

# Calls (x86-64): ptrace, process_vm_readv, process_vm_writev, pwrite64, pread64, openat.
for how in sleep work; do
  for option in --leaves --exact; do
    begin "$how, attach $option"
    started "$PROGRAMS/phases.plain" 400 $how
    text_of >"$dir/text.before"
    for rule in 101=5 101=3 310=1 311=1 18=1 17=5 257=13; do
      begins=$SECONDS
      count_of "${rule%=*}" attach $option -o "$profile" "$pid"
      attaches=$count
      count_of "${rule%=*}" detach "$pid"
      most=$((attaches > count ? attaches : count))
      [ $most -gt 120 ] && most=120
      for ((place = 1; place <= most; place += stride)); do
        fails $rule $place attach $option -o "$profile" "$pid"
        attach $option -o "$profile" "$pid"
        fails $rule $place detach "$pid"
        detach "$pid"
      done
      unchanged "$rule"
      [ -z "${VERBOSE:-}" ] || echo "$name: $rule: $attaches and $count calls, $((SECONDS - begins)) s"
    done
    touch "$dir/stop"
    ended
    # A thread that could not be let go as it should be may have slept less.
    has_text ' bad sleeps$' "$dir/out" || fail "the program did not come to its end"
    verified "$profile"
  done
done
