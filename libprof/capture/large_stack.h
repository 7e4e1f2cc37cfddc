// Work that takes much stack. Making or naming a profile takes some 45 kB, for paths most of all,
// and the thread or coroutine that forks, ends or calls exec may have 16.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#include "arch/kernel.h"
#include "signal_safe/little_room.h"
#include "signal_safe/pages.h"

namespace fbleprof::capture {

// Calls `work` on a stack of its own; if there is no memory for one, on the caller's. Faults in it
// leave the signal stack alone, from which it may have been called. Async-signal-safe.
template <class Work>
void on_large_stack(Work work) {
  constexpr std::uint64_t kBytes = 256 << 10;
  char* const stack = signal_safe::map_memory(kBytes);
  if (!stack) return work();
  const bool is_done = signal_safe::call_off_signal_stack(
      stack + kBytes, [](void* it) { (*static_cast<Work*>(it))(); }, &work);
  arch::kernel_call(SYS_munmap, reinterpret_cast<long>(stack), static_cast<long>(kBytes));
  if (!is_done) work();
}

}  // namespace fbleprof::capture
