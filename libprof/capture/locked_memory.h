// Programs that lock all their memory in core (mlockall): our memory stays unlocked. Most of it is
// reserved and never touched; locked, it would take 600 MB, or exceed RLIMIT_MEMLOCK.
#pragma once

namespace fbleprof::capture {

// mlockall for the program: 0, or -1 with errno. `real` is libc's.
int lock_program(int flags, int (*real)(int));

}  // namespace fbleprof::capture
