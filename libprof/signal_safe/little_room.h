// Work of a hook in a handler whose signal stack has little room left.
//
// The work takes up to 5 kB: 3 of them are vector registers, which are saved before the loader is
// asked. A sample on top takes a frame of the kernel, 3.4 kB with AVX-512. A signal stack has 8 kB
// in many programs, and the handler's own frame is on it. So the work is done in the memory that
// samples use in such a case, while signals are blocked.
#pragma once

#include <cstdint>

#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// Whether the caller is on a signal stack that may be too small. In hooks.
inline bool has_little_room(const ThreadState& thread) {
  constexpr std::uint64_t kHookBytes = 6 << 10;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const Stack& stack = thread.signal_stack;
  return stack.contains(here) && here - stack.low < kHookBytes + thread.session->signal_frame_bytes;
}

// Calls work(argument): elsewhere, with all signals but faults blocked, if it can be; else here.
// The caller holds the thread's state. Four system calls; none if the program has forbidden itself
// system calls.
void call_elsewhere(ThreadState& thread, void (*work)(void*), void* argument);

}  // namespace fbleprof::signal_safe
