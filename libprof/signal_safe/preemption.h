// How long a thread was ready to run while other threads had its processor.
//
// The kernel notes each time that a thread leaves its processor and comes back, with a mark if the
// thread did not want to leave (PERF_RECORD_SWITCH), in a ring of memory that the thread can read.
// This needs no system call, no descriptor and no signal. What a thread waits for a processor after
// something woke it is not noted, and is part of its wait.
#pragma once

#include <cstdint>

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// Nanoseconds since the last call, as far as they are known: if the thread left its processor more
// than 128 times, 0. Only for the calling thread; needs a guard.
std::uint64_t take_preempted(ThreadState& thread);

}  // namespace fbleprof::signal_safe
