#!/bin/bash
# A relative name of the profile means the directory in which fble-prof was started, also for
# processes that are elsewhere, if they can write there.
. "$(dirname "$0")/lib.sh"

for name_given in "" other.out; do
  for how in "" "--runs 2 --exact=program" --names; do
    begin "children in other directories $name_given $how"
    mkdir -p "$dir/at 100%p/below" "$dir/elsewhere"
    # shellcheck disable=SC2016,SC2086  # for the inner shell; several options, or none
    (cd "$dir/at 100%p" && "$FBLE_PROF" $how ${name_given:+-o "$name_given"} \
      bash -c 'cd below; "$1" start >/dev/null; cd "$2"; "$1" start >/dev/null; true' bash \
      "$PROGRAMS/sigprof.fentry" "$dir/elsewhere" 2>"$dir/err") || fail "it failed: $(cat "$dir/err")"
    found=$(find "$dir/at 100%p" -maxdepth 1 -name "${name_given:-mlmon.out}*" | wc -l)
    check "all are here" "$found" -ge 3
    check "none is elsewhere" "$(find "$dir/at 100%p/below" "$dir/elsewhere" -type f | wc -l)" = 0
    for file in "$dir/at 100%p/"*out*; do verified "$file"; done
  done
done

begin "another fble-prof in another directory"
mkdir -p "$dir/outer/inner"
# shellcheck disable=SC2016  # for the inner shell
(cd "$dir/outer" && "$FBLE_PROF" sh -c 'cd inner; "$1" "$2" start' sh "$FBLE_PROF" "$PROGRAMS/sigprof.fentry" \
  >/dev/null 2>"$dir/err") || fail "it failed: $(cat "$dir/err")"
check "it has a profile of its own there" "$(cd "$dir/outer/inner" && ls)" = mlmon.out

begin "the directory is gone"
mkdir -p "$dir/gone" "$dir/here"
# shellcheck disable=SC2016  # for the inner shell
(cd "$dir/gone" && "$FBLE_PROF" sh -c 'cd ../here; rm -r ../gone; "$1" start' sh "$PROGRAMS/sigprof.fentry" \
  >/dev/null 2>"$dir/err") || fail "it failed: $(cat "$dir/err")"
check "a child writes where it is" "$(find "$dir/here" -name 'mlmon.out*' | wc -l)" = 1
