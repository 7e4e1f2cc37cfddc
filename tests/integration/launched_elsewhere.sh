#!/bin/bash
# A relative name of the profile means the directory in which fble-prof was started, also for
# processes that are elsewhere.
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
