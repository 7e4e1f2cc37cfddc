#!/bin/bash
# fble-prof attach to programs that have confined themselves (seccomp): it is refused in one line
# where it would end or change them, and they go on as they would.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}" "${SOURCE:?root of the project}"
needs_tracing

# calls_of_list: the numbers of the calls that attach asks filters for.
echo '#include <sys/syscall.h>' | gcc -E -dM - |
  sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/\1 \2/p' | sort >numbers
calls_of_list() {
  grep -o '{CALL([a-z0-9_]*)' "$SOURCE/libprof/attach/seccomp_calls.cc" | tr -d '{)' | sed 's/CALL(//' | sort -u |
    join - numbers | cut -d' ' -f2
}
number_of() { sed -n "s/^$1 //p" numbers; }

# confines HOW [NUMBER...]: starts confines_itself.
confines() {
  printf '\0' >"$dir/told"
  started "${as_user[@]}" "$PROGRAMS/confines_itself.plain" "$dir/told" "$@"
}
# It does what it does without us. A sample that comes just when a thread begins to sleep may end the
# sleep (Known limits).
goes_on() {
  local most=1
  if [ "${1-}" = untouched ]; then
    untouched
    most=0
  fi
  printf 1 1<>"$dir/told" # truncated, it could not be read
  wait "$timer"
  check "how it ends" $? = 7
  has_text "^[0-$most] bad sleeps$" "$dir/out" || fail "its sleeps"
  check "what it says" "$(cat "$dir/err")" = ""
}
# refused TEXT ARGS...: in one line with this text.
refused() {
  local text=$1
  shift
  "$FBLE_PROF" "$@" 2>"$dir/refused.err"
  check "$*: status" $? = 1
  check "$*: one line" "$(wc -l <"$dir/refused.err")" = 1
  has_text "$text" "$dir/refused.err" || fail "$* says something else"
}
untouched() { check "the recorder is not there" "$(grep -c 'libfbleprof' "/proc/$pid/maps")" = 0; }
attached() {
  attach "$@" -o "$profile" "$pid"
  sleep 0.3
  detach "${risk[@]}" "$pid"
  attach "${risk[@]}" "$pid"
  sleep 0.3
}

as_user=() risk=()
begin "strict mode"
confines strict
for option in --leaves --exact --start-off --delay=1ms --despite-seccomp; do
  refused "allows itself no system calls" attach $option -o "$profile" "$pid"
done
goes_on untouched

begin "no filter"
confines none
attached
goes_on
verified "$profile"

# Who is in the first user namespace, with all rights and without a filter, is shown filters.
if [ "$(id -u)" = 0 ] && [ "$(readlink /proc/self/ns/user)" = 'user:[4026531837]' ] &&
  grep -qx 'Seccomp:.*0' /proc/self/status && python3 -c 'import sys
sys.exit(not int(next(x for x in open("/proc/self/status") if "CapEff" in x).split()[1], 16) >> 21 & 1)'; then
  for how in kill trap; do
    begin "a filter that ends it: $how"
    confines $how
    for option in --leaves --exact --start-off --delay=1ms; do
      refused "may end it at restart_syscall, which attaching takes" attach $option -o "$profile" "$pid"
    done
    goes_on untouched
  done

  begin "a filter that lets calls fail"
  confines fail
  refused "does not allow restart_syscall" attach -o "$profile" "$pid"
  goes_on untouched

  begin "a filter that lets calls fail that we can do without"
  confines fail "$(number_of restart_syscall)"
  refused "it gets no memory for the recorder: Operation not permitted" attach -o "$profile" "$pid"
  goes_on untouched

  begin "a filter that allows everything"
  for option in --leaves --exact; do
    confines pass
    attached $option
    goes_on
    verified "$profile"
    check "it was sampled" "$(fact samples)" -gt 0
  done

  begin "a filter that looks at arguments"
  confines forbid-code "$(number_of mprotect)"
  refused "may end it at mprotect" attach -o "$profile" "$pid"
  goes_on untouched
  confines forbid-code "$(number_of pwrite64)"  # nobody knows its third argument
  refused "may end it at pwrite64" attach -o "$profile" "$pid"
  goes_on untouched

  begin "a filter that forbids what only some recordings need"
  confines forbid "$(number_of execve)"
  refused "may end it at execve" attach --exact -o "$profile" "$pid"
  refused "may end it at execve" attach --only 'work*' -o "$profile" "$pid"
  untouched
  attached
  goes_on
  verified "$profile"

  begin "attaching takes no other calls than those that filters are asked for"
  for option in --leaves --exact --clock=wall --clock=task-clock --faults; do
    # shellcheck disable=SC2046  # words
    confines kill $(calls_of_list)
    attached $option
    goes_on
    verified "$profile"
  done

  begin "detach"
  confines forbid "$(number_of timer_create)"
  attach --despite-seccomp --start-off -o "$profile" "$pid"
  refused "may end it at timer_create" detach "$pid"
  detach --despite-seccomp "$pid"
  goes_on
else
  skip "filters are not shown here"
fi

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  begin "filters that the user is not shown"
  as_user=(setpriv --reuid nobody --regid nogroup --clear-groups)
  cp "$FBLE_PROF" "$LIB" "$PROGRAMS/confines_itself.plain" "$PROGRAMS/refusing.plain" "$work"
  chmod 711 "$work"
  chmod 777 "$dir"
  nobody=$dir/nobody
  printf '#!/bin/sh\nexec setpriv --reuid nobody --regid nogroup --clear-groups "%s/fble-prof" "$@"\n' "$work" >"$nobody"
  chmod 755 "$nobody"
  tool=$FBLE_PROF
  FBLE_PROF=$nobody PROGRAMS=$work
  confines pass
  for option in --leaves --exact --start-off; do
    refused "that cannot be seen from here" attach $option -o "$profile" "$pid"
  done
  risk=(--despite-seccomp)
  attached "${risk[@]}"
  risk=()
  goes_on
  verified "$profile"
  FBLE_PROF=$tool
fi

begin "the filter of a container around both"
# One that refuses a call that does not exist.
container=("$PROGRAMS/refusing.plain" "9999=1" --)
in_container=$dir/in_container
printf '#!/bin/sh\nexec "%s/refusing.plain" 9999=1 -- "%s" "$@"\n' "$PROGRAMS" "$FBLE_PROF" >"$in_container"
chmod 755 "$in_container"
tool=$FBLE_PROF
FBLE_PROF=$in_container
as_user=("${container[@]}")
if grep -q '^Seccomp_filters' /proc/self/status; then
  confines none
  attached
  goes_on
  verified "$profile"
fi
confines pass  # one more
refused "that cannot be seen from here" attach -o "$profile" "$pid"
goes_on untouched
FBLE_PROF=$tool
