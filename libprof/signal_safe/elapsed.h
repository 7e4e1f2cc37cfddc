// How much of a thread's time a sample charges.
#pragma once

#include <cstdint>

#include "signal_safe/sample.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

struct Elapsed {
  std::uint64_t cpu_ns, wall_ns;   // for the sample's context
  std::uint64_t in_kernel_ns = 0;  // to put aside, with that context

  bool is_none() const { return (cpu_ns | wall_ns) == 0; }
};

// Takes the time from the thread's clocks, which read `cpu` and `wall` (ns). All time taken so far,
// that put aside included, adds up to the last reading of the CPU clock.
Elapsed take_elapsed(ThreadState& thread, Sampled what, std::uint64_t cpu, std::uint64_t wall);

// The most to put aside: kernel ticks come at 100 Hz or more.
inline std::uint64_t most_in_kernel_ns(const ThreadState& thread) {
  constexpr std::uint64_t kFourTicksNs = 40'000'000;
  const std::uint64_t periods = 8 * thread.event_period_ns;
  return kFourTicksNs > periods ? kFourTicksNs : periods;
}

// Puts a part aside. Calls `charge(part)` for older ones that no system call has taken.
template <typename Charge>
void put_aside(ThreadState& thread, KernelTime::Part part, Charge charge) {
  if (part.ns == 0) return;
  KernelTime& aside = thread.kernel_time;
  while (!aside.is_empty() &&
         (aside.is_full() || aside.total_ns() + part.ns > most_in_kernel_ns(thread))) {
    charge(aside.take_oldest());
  }
  aside.add(part);
}

}  // namespace fbleprof::signal_safe
