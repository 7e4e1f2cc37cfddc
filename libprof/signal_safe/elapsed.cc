// Time in the kernel. The perf event sends no signal there, because that would disturb sleeping
// calls. So if more than a period has passed at a sample, the thread was in the kernel when the
// period ended, in a call that is not known any more. That time is put aside. Kernel ticks are
// rarer, but they meet system calls in proportion to the calls' time: a tick that meets a call
// charges it with what was put aside since the tick before.
#include "signal_safe/elapsed.h"

namespace fbleprof::signal_safe {

Elapsed take_elapsed(ThreadState& thread, Sampled what, std::uint64_t cpu, std::uint64_t wall) {
  Elapsed elapsed{cpu > thread.last_cpu_ns ? cpu - thread.last_cpu_ns : 0,
                  wall > thread.last_wall_ns ? wall - thread.last_wall_ns : 0};
  // Another thread may end the event meanwhile.
  const std::uint64_t period = __atomic_load_n(&thread.event_period_ns, __ATOMIC_RELAXED);
  if (period == 0) what = Sampled::kAll;
  std::uint64_t later = 0;       // left for the next sample
  std::uint64_t since_tick = 0;  // from tick to tick
  if (what == Sampled::kSystemCall || what == Sampled::kTick) {
    since_tick = cpu > thread.last_tick_cpu_ns ? cpu - thread.last_tick_cpu_ns : 0;
    thread.last_tick_cpu_ns = cpu;
  }
  switch (what) {
    case Sampled::kAll:
      break;
    case Sampled::kUser:
      if (elapsed.cpu_ns > period + period / 2) elapsed.in_kernel_ns = elapsed.cpu_ns - period;
      break;
    case Sampled::kSystemCall:
      if (elapsed.cpu_ns < period && thread.kernel_time.is_empty()) return {0, 0};
      later = elapsed.cpu_ns % period;
      break;
    case Sampled::kTick:
      if (elapsed.cpu_ns < most_in_kernel_ns(thread)) return {0, 0};
      break;
  }
  const std::uint64_t kept = elapsed.in_kernel_ns + later;
  if (elapsed.wall_ns < kept) elapsed.wall_ns = kept;
  elapsed.cpu_ns -= kept;
  elapsed.wall_ns -= kept;
  thread.last_cpu_ns = cpu - later;
  thread.last_wall_ns = wall - later;
  if (what == Sampled::kSystemCall && since_tick > elapsed.cpu_ns) {
    const std::uint64_t ns = thread.kernel_time.take_newest(since_tick - elapsed.cpu_ns);
    elapsed.cpu_ns += ns;
    elapsed.wall_ns += ns;
  }
  return elapsed;
}

}  // namespace fbleprof::signal_safe
