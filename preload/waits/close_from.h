// closefrom for a libc without it (glibc before 2.34), where a program can still find our wrapper.
#pragma once

namespace fbleprof::preload {

// Closes all descriptors of the process from `first`. Async-signal-safe, also in a child of vfork;
// leaves errno as it is.
void close_from(unsigned first);

}  // namespace fbleprof::preload
