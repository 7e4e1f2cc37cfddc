// How much of a thread's time a sample is charged with.
#pragma once

#include <cstdint>

#include "signal_safe/sample.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

struct Elapsed {
  std::uint64_t cpu_ns, wall_ns;

  bool is_none() const { return (cpu_ns | wall_ns) == 0; }
};

// Takes it off the thread's clocks, which read `cpu` and `wall` (ns) now. What has been taken and
// thread.in_kernel_ns, which waits to be charged, add up to the CPU clock at its last reading.
Elapsed take_elapsed(ThreadState& thread, Sampled what, std::uint64_t cpu, std::uint64_t wall);

}  // namespace fbleprof::signal_safe
