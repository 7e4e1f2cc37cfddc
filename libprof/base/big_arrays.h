// How memory is had by a process that works on arrays of a million entries, one after the other.
#pragma once

#include <cstdlib>  // says whether this is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fbleprof {

// Keeps what was freed for the next array. To give it back to the kernel and to take it again, page
// by page, costs a fifth of what is done with it. For main(), before anything large.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace fbleprof
