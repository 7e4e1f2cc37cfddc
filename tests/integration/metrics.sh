#!/bin/bash
# Amounts other than time, and limits of the tree.
. "$(dirname "$0")/lib.sh"

# self METRIC FUNCTION: the function's own amount.
self() {
  "$REPORT" --self --metric "$1" --format csv "$profile" |
    python3 -c 'import csv, sys
print(sum(int(row["self"]) for row in csv.DictReader(sys.stdin) if row["name"] == sys.argv[1]))' "$2"
}

for mode in fentry plain; do
  begin "page faults by context, $mode"
  settings=(FBLEPROF_FAULTS=1)
  same "$PROGRAMS/faults.$mode" 20000
  [ "$mode" = plain ] || expected
  verified "$profile"
  check "the function that touches has its faults" "$(self minor-faults touches)" -gt 16000
  check "it has no more than all" "$(self faults touches)" -lt 24000
  check "the one that computes has next to none" "$(self faults computes)" -lt 4000
done

begin "page faults as the clock"
settings=(FBLEPROF_CLOCK=page-faults FBLEPROF_RATE=10000)
same "$PROGRAMS/faults.fentry" 4000
verified "$profile"
# Where the kernel refuses events (a container), the profile says so.
if "$REPORT" --summary "$profile" | grep -q 'does not count this event'; then
  skip "no perf events"
else
  check "it is the default" "$("$REPORT" --metrics --format csv "$profile" | awk -F, '$5 == 1 { print $1 }')" = page-faults
  check "each fault is where it happens" "$(self page-faults touches)" -ge 3900
  check "and only there" "$(self page-faults computes)" -lt 100
  check "time is recorded, too" "$(self cpu touches)" -gt 0
fi

begin "an event that the machine does not count is refused in one line"
"$FBLE_PROF" --clock=cycles -o "$profile" true 2>"$dir/err"
status=$?
if [ "$status" != 0 ]; then
  check "status and lines" "$status $(wc -l <"$dir/err")" = "2 1"
  check "what to do instead" "$(grep -c 'task-clock' "$dir/err")" = 1
  profiled FBLEPROF_CLOCK=cycles FBLEPROF_VERBOSE=1 true
  check "without the launcher, CPU time" "$("$REPORT" --summary "$profile" | grep -c 'does not count this event')" = 1
fi

begin "without the option there is no such metric"
same "$PROGRAMS/faults.fentry" 1000
"$REPORT" --self --metric faults "$profile" >"$dir/report" 2>&1
check "status" $? = 2
check "the metrics that there are get named" "$(grep -c 'cpu' "$dir/report")" -gt 0

for mode in fentry cyg; do
  for depth in 1 3; do
    begin "a limit of depth keeps every call, $mode, $depth"
    settings=("FBLEPROF_DEPTH=$depth")
    same "$PROGRAMS/notes.$mode"
    verified "$profile"
    "$REPORT" --edges --format csv "$profile" | grep -v '\[' | sort >"$dir/limited"
    settings=()
    rm "$profile"
    profiled "$PROGRAMS/notes.$mode"
    "$REPORT" --edges --format csv "$profile" | grep -v '\[' | sort >"$dir/whole"
    # Caller, callee and calls; times are never the same.
    check "pairs and calls are the same" \
      "$(cut -d, -f1-3 "$dir/limited" | cksum)" = "$(cut -d, -f1-3 "$dir/whole" | cksum)"
  done
done

# The program's own hook counts: it is the oracle.
for mode in blocks blocksclang fentryblocks; do
  begin "basic blocks are ticks, $mode"
  settings=(FBLEPROF_CLOCK=ticks)
  same "$PROGRAMS/ticking.$mode"
  verified "$profile"
  blocks=$("$PROGRAMS/ticking_counter.$mode" 2>&1 >"$dir/counted" | sed -n 's/^blocks //p')
  ticks=$("$REPORT" --self --metric ticks --format csv "$profile" |
    python3 -c 'import csv, sys; print(sum(int(row["self"]) for row in csv.DictReader(sys.stdin)))')
  check "each block is a tick" "$ticks" -le "$((blocks + 10))"
  check "no block is lost" "$ticks" -ge "$((blocks - 10))"
  check "the inner loop has most" "$(self ticks collatz)" -gt $((blocks * 3 / 5))
  "$REPORT" --format csv "$profile" >"$dir/first.csv"
  rm "$profile"
  profiled "$PROGRAMS/ticking.$mode"
  "$REPORT" --format csv "$profile" >"$dir/second.csv"
  check "two runs are the same, bit for bit" "$(cksum <"$dir/first.csv")" = "$(cksum <"$dir/second.csv")"

  begin "ticks by the hundred, $mode"
  settings=(FBLEPROF_CLOCK=ticks FBLEPROF_TICK_PERIOD=100)
  same "$PROGRAMS/ticking.$mode"
  check "all but the last period is charged" "$(self ticks collatz)" -gt $((blocks * 3 / 5 - 10000))
  check "in whole periods" $(($(self ticks collatz) % 100)) = 0
done
