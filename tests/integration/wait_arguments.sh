#!/bin/bash
# Calls that --waits wraps get all of their arguments, and streams are looked at only where libc
# looks at them.
. "$(dirname "$0")/lib.sh"
wrappers=$(dirname "$LIB")/libfbleprof_wait.so
recording=("LD_PRELOAD=$wrappers:$LIB" FBLEPROF_WAITS=1)

begin "a checked recvfrom tells the sender's address"
settings=("${recording[@]}")
same "$PROGRAMS/wait_arguments.plain" address
check "the address came" "$(grep -c 'from its sender, 24 bytes' "$dir/plain.out")" = 3
verified "$profile"

begin "no stream is needed for nothing"
settings=("${recording[@]}")
same "$PROGRAMS/wait_arguments.plain" nothing
check "nothing came" "$(cat "$dir/plain.out")" = "0 0 0 0 0 1 1 1 1 1 empty"

begin "threads that read one stream"
settings=("${recording[@]}")
same "$PROGRAMS/wait_arguments.plain" shared
verified "$profile"

# The last step locks a mutex that is not recoverable, in two threads.
begin "locks whose owners died"
settings=("${recording[@]}")
TIMEOUT=60 same "$PROGRAMS/unusual.plain" robust
verified "$profile"
