#!/bin/bash
# The trees of known call sequences have their compacted form, in every hook mode.
. "$(dirname "$0")/lib.sh"

# tree LINE...: the tree edges under main are exactly these, as PATH CALLS.
tree() {
  local found
  found=$(python3 "$here/../oracle/mlmon.py" --paths "$profile" 2>&1 | sed -n 's,^.*/main/,,p' | sort)
  [ "$found" = "$(printf '%s\n' "$@" | sort)" ] || fail "the tree is: $found"
}

for mode in fentry gmon mcount mcountc cyg cygclang; do
  notes=$PROGRAMS/notes.$mode

  begin "abbbc $mode"
  same "$notes" abbbc
  expected
  tree 'a 1' 'a/b 1' 'a/b/b 1' 'a/b/b/b (back) 1' 'a/b/b/c 1'

  begin "ababc $mode"
  same "$notes" ababc
  expected
  tree 'a2 1' 'a2/b2 1' 'a2/b2/a2 1' 'a2/b2/a2/b2 (back) 1' 'a2/b2/c 1'

  begin "mutual recursion $mode"
  same "$notes" mutual
  expected

  begin "square-free $mode"
  same "$notes" squarefree 3000
  expected
  nodes=$(fact node_count)
  begin "square-free, ten times as long $mode"
  same "$notes" squarefree 30000
  expected
  check "the tree does not grow with the run" "$(fact node_count)" -le $((nodes + 10))

  begin "ten million deep $mode"
  same "$notes" deep 10000000
  expected
done

# Tail calls: one calls two 100 times, two becomes three. The exit hook of -finstrument-functions
# forbids them, so there two simply calls three.
for mode in fentry gmon mcount mcountc cyg cygclang; do
  begin "tail calls $mode"
  same "$PROGRAMS/notes.$mode" tail
  expected
  check "three is entered 100 times" "$(calls '*' three)" = 100
  case $mode in cyg*) continue ;; esac
  begin "a loop of tail calls $mode"
  same "$PROGRAMS/notes.$mode" bounce
  expected
done

begin "other rules of compaction"
for rule in suffix none; do
  begin "compaction $rule"
  settings=(FBLEPROF_COMPACT="$rule")
  same "$PROGRAMS/notes.fentry" abbbc
  verified "$profile"
  check "b is entered 3 times" "$(calls '*' b)" = 3
done

begin "memory cap"
settings=(FBLEPROF_COMPACT=none FBLEPROF_MEMORY=1M)
same "$PROGRAMS/notes.fentry" deep 1000000
verified "$profile"
check "no call is lost" "$(calls '*' deep)" = 1000000
check "the file keeps to its limit" "$(stat -c %s "$profile")" -le $((1 << 20))
