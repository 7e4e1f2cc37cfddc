// What the kernel counts about a thread besides its time.
#pragma once

#include <sys/resource.h>

#include "arch/kernel.h"

namespace fbleprof::signal_safe {

// Of the calling thread; a system call. False: the kernel refuses.
inline bool read_usage(rusage* usage) {
  return !arch::kernel_failed(
      arch::kernel_call(SYS_getrusage, RUSAGE_THREAD, reinterpret_cast<long>(usage)));
}

}  // namespace fbleprof::signal_safe
