// How much of a thread's time a sample charges.
#pragma once

#include <cstdint>

#include "signal_safe/sample.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

struct Elapsed {
  std::uint64_t cpu_ns, wall_ns;

  bool is_none() const { return (cpu_ns | wall_ns) == 0; }
};

// Takes the time from the thread's clocks, which read `cpu` and `wall` (ns). All time taken so far
// and thread.in_kernel_ns, which is not charged yet, add up to the last reading of the CPU clock.
Elapsed take_elapsed(ThreadState& thread, Sampled what, std::uint64_t cpu, std::uint64_t wall);

}  // namespace fbleprof::signal_safe
