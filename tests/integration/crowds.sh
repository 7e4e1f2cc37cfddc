#!/bin/bash
# As many threads at once as without the profiler. Runs alone: it takes nearly all process numbers.
. "$(dirname "$0")/lib.sh"

# A process may have 65,530 mappings, and its threads' stacks take two each.
for mode in plain fentry; do
  begin "30,000 threads at once, $mode"
  if [ "$("$PROGRAMS/crowded.$mode" 30000)" = "30000 threads" ]; then
    same "$PROGRAMS/crowded.$mode" 30000
    verified "$profile"
  else
    skip "the system allows fewer"
  fi
done
