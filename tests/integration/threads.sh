#!/bin/bash
# All kinds of threads are recorded, and the memory that they leave is bounded.
. "$(dirname "$0")/lib.sh"

for mode in fentry mcountc cyg; do
  for how in many endings main-first small-stacks full-stacks clone timer; do
    begin "threads $how $mode"
    same "$PROGRAMS/threads.$mode" $how
    expected
  done
done
for mode in fentry cyg; do
  begin "openmp $mode"
  same "$PROGRAMS/openmp.$mode"
  expected
done
for mode in fentry cyg cygclang; do
  begin "C++ threads $mode"
  same "$PROGRAMS/cxx_threads.$mode"
  expected
done

begin "short threads, 10,000"
same "$PROGRAMS/threads.fentry" short 10000
expected
few=$(stat -c %b "$profile")
begin "short threads, 100,000"
same "$PROGRAMS/threads.fentry" short 100000
expected
many=$(stat -c %b "$profile")
check "ten times the threads, the same size ($few and $many blocks)" "$many" -le $((few * 2))

# Without hooks
for how in many endings main-first small-stacks full-stacks clone timer 'short 20000'; do
  begin "threads $how without hooks"
  # shellcheck disable=SC2086  # two arguments
  same "$PROGRAMS/threads.plain" $how
  verified "$profile"
done
# Some 30 microseconds each.
begin "what the recorder does at the begin and end of threads is its own cost"
profiled "$PROGRAMS/threads.plain" short 20000
verified "$profile"
check "its cost in ms" "$(($(fact overhead_ns) / 1000000))" -ge 60
for mode in fentry plain; do
  begin "threads that libc starts for timers and queues, $mode"
  same "$PROGRAMS/notified.$mode"
  verified "$profile"
  check "the timers have their time" "$(share of_timer | cut -d. -f1)" -ge 40
  if has_text "queue: made" "$dir/plain.out"; then
    check "the queue has its time" "$(share of_queue | cut -d. -f1)" -ge 25
  fi
done
begin "threads without hooks, all of them sampled"
profiled "$PROGRAMS/openmp.plain"
check "item has the time" "$(share item | cut -d. -f1)" -ge 80

for mode in fentry plain; do
  for ((i = 0; i < 6; ++i)); do
    begin "a thread on what is left of another one's stack, $mode"
    same "$PROGRAMS/smaller_stack.$mode"
    verified "$profile"
  done

  begin "deep threads that follow each other are sampled like one, $mode"
  profiled "$PROGRAMS/deep_threads.$mode" 1 1600
  one=$(fact samples)
  profiled "$PROGRAMS/deep_threads.$mode" 8 200
  verified "$profile"
  check "samples" $(($(fact samples) * 2)) -ge "$one"
  check "few are of no function" "$(share '[root]' | cut -d. -f1)" -le 5
done

for mode in fentry mcountc cyg cygclang; do
  begin "what comes after the last sample $mode"
  same "$PROGRAMS/last.$mode"
  expected
  check "it is not of what returned last" "$(share tiny | cut -d. -f1)" -le 1
  check "it is of what ran" "$(dominated spin | cut -d. -f1)" -ge 90
done

# by_thread: the names of the threads in the profile.
by_thread() { "$REPORT" --by thread "$profile" | sed -n 's/.*thread "\([^"]*\)".*/\1/p'; }

for mode in fentry plain; do
  begin "threads get a name that is kept while they end, $mode"
  settings=(FBLEPROF_THREADS=kept)
  same "$PROGRAMS/ending_threads.$mode" named
  verified "$profile"
  check "their memory serves others" "$("$REPORT" --raw "$profile" | grep -ac '^thread ')" -le 200

  begin "recording is turned on while threads end, $mode"
  same "$PROGRAMS/ending_threads.$mode" toggled
  verified "$profile"
  # Six threads that compute for 300 ms each; how long the others take, the system decides.
  check "the next threads have samples" "$(dominated_ms work)" -ge 1500
  check "little is of no function" "$(share '[root]' | cut -d. -f1)" -le 25

  # Where the kernel refuses events (a container), CPU time is the clock.
  begin "recording is turned off while threads have an event's samples, $mode"
  settings=(FBLEPROF_CLOCK=page-faults FBLEPROF_RATE=100000)
  same "$PROGRAMS/ending_threads.$mode" faults
  verified "$profile"
  settings=()

  begin "sections shorter than a sampling period, $mode"
  profiled "$PROGRAMS/ending_threads.$mode" sections
  verified "$profile"
  # The program computes for 400 ms there. How long the other thread has a processor meanwhile,
  # the system decides.
  check "what was recorded" "$(dominated_ms work)" -ge 350
  check "in the other thread, too" "$(dominated_ms other)" -ge 260
  check "what was not" "$(dominated rest | cut -d. -f1)" -le 4
  check "little is of no function" "$(share '[root]' | cut -d. -f1)" -le 15

  begin "a thread that lives shows the name that it gave itself, $mode"
  profiled "$PROGRAMS/ending_threads.$mode" renamed
  check "the names" "$(by_thread | sort | tr '\n' ' ')" = "ending_threads. worker "

  begin "a thread that is left out does not rename the one before it, $mode"
  settings=(FBLEPROF_THREADS=parser)
  profiled "$PROGRAMS/ending_threads.$mode" apart
  check "the name" "$(by_thread | head -n 1)" = parser
done
