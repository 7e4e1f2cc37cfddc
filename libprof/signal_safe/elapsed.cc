// Time in the kernel. The perf event sends no signal there, because that would disturb sleeping
// calls. So if more than a period has passed at a sample, the thread was in the kernel when the
// period ended, in a call that is not known any more. That time is put aside. Kernel ticks are
// rarer, but they meet system calls in proportion to the calls' time; a tick that meets a call
// charges it with the time put aside. If no tick meets a call (page faults), the time goes to the
// next sample in user mode.
#include "signal_safe/elapsed.h"

namespace fbleprof::signal_safe {

namespace {

// The most to put aside for the kernel: ticks come at 100 Hz or more.
constexpr std::uint64_t kMostInKernelNs = 40'000'000;

}  // namespace

Elapsed take_elapsed(ThreadState& thread, Sampled what, std::uint64_t cpu, std::uint64_t wall) {
  Elapsed elapsed{cpu > thread.last_cpu_ns ? cpu - thread.last_cpu_ns : 0,
                  wall > thread.last_wall_ns ? wall - thread.last_wall_ns : 0};
  const std::uint64_t period = thread.event_period_ns;
  const std::uint64_t most = kMostInKernelNs > 8 * period ? kMostInKernelNs : 8 * period;
  std::uint64_t aside = 0, later = 0;  // put aside for the kernel, and left for the next sample
  bool settles = true;                 // also charge the time put aside
  switch (what) {
    case Sampled::kAll:
      break;
    case Sampled::kUser:
      settles = elapsed.cpu_ns > period + period / 2 &&
                thread.in_kernel_ns + elapsed.cpu_ns - period > most;
      if (!settles && elapsed.cpu_ns > period + period / 2) aside = elapsed.cpu_ns - period;
      break;
    case Sampled::kSystemCall:
      if (elapsed.cpu_ns < period && thread.in_kernel_ns == 0) return {0, 0};
      later = elapsed.cpu_ns % period;
      break;
    case Sampled::kTick:
      if (elapsed.cpu_ns < most) return {0, 0};
      break;
  }
  if (elapsed.wall_ns < aside + later) elapsed.wall_ns = aside + later;
  elapsed.cpu_ns -= aside + later;
  elapsed.wall_ns -= aside + later;
  thread.last_cpu_ns = cpu - later;
  thread.last_wall_ns = wall - later;
  thread.in_kernel_ns += aside;
  if (settles) {
    elapsed.cpu_ns += thread.in_kernel_ns;
    elapsed.wall_ns += thread.in_kernel_ns;
    thread.in_kernel_ns = 0;
  }
  return elapsed;
}

}  // namespace fbleprof::signal_safe
