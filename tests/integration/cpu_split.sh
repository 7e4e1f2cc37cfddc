#!/bin/bash
# The report shows a known split of CPU time, within the bounds of chance, in every hook mode and
# without hooks.
. "$(dirname "$0")/lib.sh"
milliseconds=${SPLIT_MS:-5000}

for mode in fentry gmon mcount mcountc cyg cygclang plain; do
  begin "split $mode"
  profiled "$PROGRAMS/split.$mode" "$milliseconds"
  check "it ends well" "$(cat "$dir/profiled.status")" = 'exit 0'
  verified "$profile"
  near_share "self of hot" "$(share hot)" 50
  near_share "self of deep" "$(share deep)" 30
  near_share "self of shared" "$(share shared)" 20
  near_share "left" "$(dominated left)" 15
  near_share "right" "$(dominated right)" 5
done

for mode in fentry plain; do
  begin "a program in step with the sampler, $mode"
  profiled "$PROGRAMS/rounds.$mode" "$milliseconds" rhythm
  # A sampler in step meets only one of them, or hardly one.
  near_share "dominated by first" "$(dominated first)" 30 1.5
  begin "time in the kernel, $mode"
  profiled "$PROGRAMS/rounds.$mode" "$milliseconds" kernel
  near "dominated by in_kernel" "$(dominated in_kernel)" 30 8
done
