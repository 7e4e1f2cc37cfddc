// Waits for an object that another thread of the program releases or signals, and the reports of
// that thread (signal_safe/wakers.h).
#pragma once

#include <errno.h>

#include "signal_safe/wakers.h"
#include "waiting.h"

namespace fbleprof::preload {

inline bool is_wanted(const void* object) {
  return fbleprof_wanted != nullptr &&
         __atomic_load_n(&fbleprof_wanted[signal_safe::wanted_place(object)], __ATOMIC_RELAXED) !=
             0;
}

// Call it before the object is released, if it is wanted.
[[gnu::noinline]] inline void let_go(std::uint64_t caller, const void* object) {
  const int saved_errno = errno;
  if (fbleprof_letting_go != nullptr) fbleprof_letting_go(caller, object);
  errno = saved_errno;
}

}  // namespace fbleprof::preload
