// Programs that lock all their memory in core (mlockall): ours stays out of it. It is mostly
// reserved and never touched; locked, it would be 600 MB in core, or beyond RLIMIT_MEMLOCK.
#pragma once

namespace fbleprof::capture {

// mlockall for the program: 0, or -1 with errno. `real` is libc's.
int lock_program(int flags, int (*real)(int));

}  // namespace fbleprof::capture
