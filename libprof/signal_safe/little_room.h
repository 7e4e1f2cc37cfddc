// Work of hooks and wrappers in a handler whose signal stack has little room left, or on a stack
// that grows by pieces (-fsplit-stack), each of which leaves 3.5 kB.
//
// To find a context takes up to 5 kB: 3 of them are vector registers, which are saved before the
// loader is asked. A sample on top takes a frame of the kernel, 3.4 kB with AVX-512. A signal stack
// has 8 kB in many programs, and the handler's own frame is on it. So the work is done in the
// memory that samples use in such a case, while signals are blocked.
#pragma once

#include <signal.h>

#include <cstdint>

#include "arch/split_stack.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// Whether the caller is on a signal stack that may be too small, or on a piece. Outside of samples.
inline bool has_little_room(const ThreadState& thread) {
  constexpr std::uint64_t kWorkBytes = 7 << 10;  // and of a sample until it leaves the stack
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const Stack& stack = thread.signal_stack;
  if (stack.contains(here)) {
    return here - stack.low < kWorkBytes + thread.session->signal_frame_bytes;
  }
  const auto end = reinterpret_cast<std::uint64_t>(thread.sample_stack_end);
  return arch::has_split_stack() && end - here > kSampleStackBytes;
}

constexpr std::uint64_t bit_of_signal(int signal) { return std::uint64_t{1} << (signal - 1); }
// The kernel's mask of all signals, also of the one that cancels threads, but those of faults.
inline constexpr std::uint64_t kAllButFaults =
    ~(bit_of_signal(SIGSEGV) | bit_of_signal(SIGBUS) | bit_of_signal(SIGILL) |
      bit_of_signal(SIGFPE) | bit_of_signal(SIGTRAP) | bit_of_signal(SIGSYS));

// Calls work(argument) on the stack that ends at `stack_end`. The kernel takes a signal stack that
// is left for unused, and would give it to the handler of a fault, so the thread has none
// meanwhile. False: the kernel refused that, and nothing was called. Two system calls.
// Async-signal-safe.
bool call_off_signal_stack(char* stack_end, void (*work)(void*), void* argument);

// Calls work(argument): elsewhere, with all signals but faults blocked, if it can be; else here.
// The caller holds the thread's state. Four system calls; none if the program has forbidden itself
// system calls.
void call_elsewhere(ThreadState& thread, void (*work)(void*), void* argument);

// Calls work(), elsewhere if there is little room here. The caller holds the thread's state.
template <class Work>
inline void call_with_room(ThreadState& thread, Work work) {
  if (!has_little_room(thread)) [[likely]]
    return work();
  call_elsewhere(
      thread, [](void* it) { (*static_cast<Work*>(it))(); }, &work);
}

}  // namespace fbleprof::signal_safe
