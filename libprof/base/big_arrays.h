// Memory settings for a process that works on arrays of a million entries, one after the other.
#pragma once

#include <cstdlib>  // says whether this is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fbleprof {

// Keeps freed memory for the next array. Giving it back to the kernel and taking it again, page by
// page, would cost a fifth of the work. For main(), before any large allocation.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

// Lets all threads take memory from one place: what one of them freed is there for the others. For
// main(), before other threads.
inline void share_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace fbleprof
