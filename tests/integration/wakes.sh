#!/bin/bash
# Who woke a thread that waited.
. "$(dirname "$0")/lib.sh"
wrappers=$(dirname "$LIB")/libfbleprof_wait.so

# below WAITS [WAKER]: how long the function waited (until the other one woke it), in us.
below() {
  awk -v call=";$1;" -v waker="${2:+;[woken by $2];}" '
    { ns = $NF; sub(/ [0-9]*$/, ";") }
    index(";" $0, call) && (waker == "" || index($0, waker)) { sum += ns }
    END { printf "%d", sum / 1000 }' "$dir/paths"
}

for mode in fentry plain; do
  begin "a wait is charged to who ended it, $mode"
  settings=("LD_PRELOAD=$wrappers:$LIB" FBLEPROF_WAITS=1)
  same "$PROGRAMS/wakes.$mode"
  verified "$profile"
  "$REPORT" --export folded --metric wait -o "$dir/paths" "$profile"
  for kind in cond semaphore jump futex barrier pipe eventfd epoll \
    dprintf list checked checked_list pwritev2 sendfile splice vmsplice tee flush messages; do
    all=$(below "waits_$kind")
    # The first wait may begin late, and on a busy machine a byte comes before the next wait.
    check "most is known, $kind" "$(below "waits_$kind" "signals_$kind")" -ge $((all * 6 / 10))
    for caller in slow quick; do
      check "by its caller, too, $kind, $caller" "$(below "waits_$kind" $caller)" -gt 0
    done
  done
  check "a function that ends with a jump is known" "$(below waits_jump post)" = \
    "$(below waits_jump signals_jump)"
  check "through a duplicate nobody is known" "$(below waits_duplicate slow)" = 0
  for closed in range from stream call; do
    check "nor after close_$closed" "$(below "waits_$closed" "signals_$closed")" = 0
  done
  check "nor by the numbers of a child" "$(below waits_child signals_child)" = 0
  for replaced in by_dup2 by_dup3 by_stream; do
    check "nor after one was replaced, $replaced" \
      "$(below "waits_$replaced" "signals_$replaced")" = 0
  done
  for unwatched in deleted modified; do
    check "nor by what is not watched, $unwatched" \
      "$(below "waits_$unwatched" "signals_$unwatched")" = 0
    check "but its wait is, $unwatched" "$(below "waits_$unwatched")" -gt 10000
  done
  check "but the wait is" "$(below waits_duplicate)" -gt 10000
  "$REPORT" --waits --format json "$profile" >"$dir/view"
  check "a pair in the view" "$(python3 -c '
import json, sys
print(sum(row["caller"] == "waits_epoll" and row["waker"].startswith("send_byte ← signals_epoll ← ")
          for row in json.load(open(sys.argv[1]))["wakeups"]))' "$dir/view")" -ge 1
done
