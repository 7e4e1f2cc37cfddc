// Work that takes much stack. Making or naming a profile takes some 45 kB, for paths most of all,
// and the thread or coroutine that forks, ends or calls exec may have 16.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#include "arch/call_on.h"
#include "arch/kernel.h"
#include "signal_safe/pages.h"

namespace fbleprof::capture {

// Calls `work` on a stack of its own; if there is no memory for one, on the caller's.
// Async-signal-safe.
template <class Work>
void on_large_stack(Work work) {
  constexpr std::uint64_t kBytes = 256 << 10;
  char* const stack = signal_safe::map_memory(kBytes);
  if (!stack) return work();
  fbleprof_call_on(
      stack + kBytes, [](void* it) { (*static_cast<Work*>(it))(); }, &work);
  arch::kernel_call(SYS_munmap, reinterpret_cast<long>(stack), static_cast<long>(kBytes));
}

}  // namespace fbleprof::capture
