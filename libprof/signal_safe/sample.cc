// Samples charge elapsed time; they do not count signals. So the sum of all charges is the thread's
// clock, even if signals are late, blocked or merged.
//
// The live context:
//  - if the interrupted instruction is ours, the time is overhead of the context;
//  - else context_at finds the context, from the shadow stack and a walk of the machine stack.
#include "signal_safe/sample.h"

#include "signal_safe/context_at.h"
#include "signal_safe/elapsed.h"
#include "signal_safe/late_start.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/profile_switch.h"
#include "signal_safe/session.h"
#include "signal_safe/usage.h"
#include "signal_safe/waits.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// Takes the chargeable time up to these readings of the thread's clocks.
Elapsed take_elapsed_until(ThreadState& thread, Sampled what, std::uint64_t cpu,
                           std::uint64_t wall) {
  Elapsed elapsed = take_elapsed(thread, what, cpu, wall);
  if (elapsed.is_none()) return elapsed;
  if (thread.waits != nullptr && elapsed.wall_ns < elapsed.cpu_ns) {
    // The two clocks are read one after the other; the next charge has less.
    thread.last_wall_ns += elapsed.cpu_ns - elapsed.wall_ns;
    elapsed.wall_ns = elapsed.cpu_ns;
  }
  thread.record->cpu_ns += elapsed.cpu_ns;
  thread.record->wall_ns += elapsed.wall_ns;
  return elapsed;
}
Elapsed take_elapsed(ThreadState& thread, Sampled what) {
  const Clocks& clocks = thread.session->clocks;
  const std::uint64_t cpu = clocks.cpu_ns(), wall = clocks.wall_ns();
  const Elapsed elapsed = take_elapsed_until(thread, what, cpu, wall);
  if (!elapsed.is_none()) thread.session->show_clock(wall);
  return elapsed;
}

// Charges the page faults since the last charge to the same context as the time: an estimate.
void charge_faults(ThreadState& thread, std::uint64_t* values, const rusage& usage) {
  const auto minor = static_cast<std::uint64_t>(usage.ru_minflt);
  const auto major = static_cast<std::uint64_t>(usage.ru_majflt);
  if (thread.knows_faults) {
    values[kMinorFaults] += minor - thread.minor_faults;
    values[kMajorFaults] += major - thread.major_faults;
  }
  thread.knows_faults = true;
  thread.minor_faults = minor;
  thread.major_faults = major;
}

// Needs no guard itself: it does not change the tree. `values` are the context's or the root's.
void charge(ThreadState& thread, std::uint64_t* values, Ref context, Elapsed elapsed) {
  thread.tree.note_sampled(context);
  values[kSamples] += 1;
  values[kCpuNs] += elapsed.cpu_ns;
  values[kWallNs] += elapsed.wall_ns;
  if (elapsed.wall_ns > elapsed.cpu_ns) {
    charge_unseen(thread, values, elapsed.wall_ns - elapsed.cpu_ns);
  }
  const Options& options = thread.session->options;
  rusage usage;
  if ((!options.faults && !options.waits) || !read_usage(&usage)) return;
  if (options.faults) charge_faults(thread, values, usage);
  if (options.waits) charge_switches(thread, values, usage);
}

void charge_part(ThreadState& thread, KernelTime::Part part) {
  const Ref context = part.context != 0 ? part.context : context_of_rest(thread);
  // The context had a sample, so it has values.
  std::uint64_t* values = thread.tree.values_or_root(context);
  values[kCpuNs] += part.ns;
  values[kWallNs] += part.ns;
  thread.record->cpu_ns += part.ns;
  thread.record->wall_ns += part.ns;
}

void put_aside(ThreadState& thread, Ref context, Elapsed elapsed) {
  put_aside(thread, KernelTime::Part{elapsed.in_kernel_ns, context},
            [&](KernelTime::Part part) { charge_part(thread, part); });
}

void charge_own_cost(const ThreadState& thread, std::uint64_t* values, Elapsed elapsed) {
  values[kSamples] += 1;
  values[kOwnCostNs] += elapsed.cpu_ns;
  if (elapsed.wall_ns <= elapsed.cpu_ns) return;
  values[kWallNs] += elapsed.wall_ns - elapsed.cpu_ns;
  charge_unseen(thread, values, elapsed.wall_ns - elapsed.cpu_ns);
}

// At the end, the current wait is charged first.
void charge_wait_at_end(ThreadState& thread) {
  if (thread.waits == nullptr) return;
  const Clocks& clocks = thread.session->clocks;
  const std::uint64_t cpu = clocks.cpu_ns();
  charge_open_wait(thread, cpu, clocks.wall_ns());
}

bool is_ours(const Session& session, std::uint64_t pc) {
  return session.is_own_code(pc) || session.trampolines.contains(pc) ||
         session.adapters.contains(pc);
}

Ref leaf_of(const BusyGuard& guard, ThreadState& thread, Ref context, std::uint64_t pc) {
  const Ref function =
      thread.session->code_map.function_with_key(pc, format::FunctionKind::kInstruction);
  if (function == 0) return context;
  return thread.tree.enter(guard, context, function, 0, format::kEdgeSampled).to;
}

// With the clock `ticks`, no time is charged: otherwise no two profiles would be the same.
bool has_time(const ThreadState& thread) {
  return thread.session->options.clock != format::Clock::kTicks;
}
// If a walk takes longer than the period, the next signal is pending before the handler returns,
// and the program makes no progress. So samples are left out until the program has had several
// times what the walk took; the next sample charges that time. What a walk of this length cannot
// take was not the walk (a virtual machine that stood still counts as CPU time, too): it must not
// cost the samples of the next seconds.
void rest_after_long_walk(ThreadState& thread) {
  constexpr std::uint32_t kLongWalk = 64;  // frames; shorter walks take a few microseconds
  constexpr std::int64_t kManyEntries = 4096;
  constexpr std::uint64_t kTimesTheWalk = 4, kLongestWalkNs = 100'000'000;
  // Blocks that share a frame are searched for the native function below them.
  const bool has_many_entries = thread.hot->top - thread.current->gate > kManyEntries;
  if (thread.known.walked() < kLongWalk && !has_many_entries) return;
  const std::uint64_t now = thread.session->clocks.cpu_ns();
  if (now <= thread.last_cpu_ns) return;
  const std::uint64_t walk_ns = now - thread.last_cpu_ns;
  thread.resting_until_ns =
      now + kTimesTheWalk * (walk_ns < kLongestWalkNs ? walk_ns : kLongestWalkNs);
}

// --throttle. The guard proves that no slow path is changing the cache.
void watch_call_rates(const BusyGuard&, ThreadState& thread) {
  Session& session = *thread.session;
  if (session.unhook == nullptr) return;
  if (thread.rates == nullptr) {
    thread.rates = static_cast<CallRates*>(session.pages.take(sizeof(CallRates)));
    if (thread.rates == nullptr) return;
  }
  thread.rates->look(thread.cache.slots, thread.last_cpu_ns, session.options.throttle,
                     session.unhook);
}

}  // namespace

bool takes_time(const ThreadState& thread) {
  return thread.session->recording.load(std::memory_order_relaxed) && has_time(thread);
}

void charge_sample(ThreadState& thread, const MachineState& at, Sampled what) {
  if (!takes_time(thread)) return;
  if (thread.resting_until_ns != 0) {
    if (thread.session->clocks.cpu_ns() < thread.resting_until_ns) return;
    thread.resting_until_ns = 0;
    what = Sampled::kAll;  // the signals in between were ours to refuse, not the kernel's
  }
  if (thread.is_changing_profile || is_wait_ending(thread, at.sp)) return;
  settle_wait_at_sample(thread, at.sp);
  if (is_busy(thread, at.sp)) {
    // The sample interrupted the slow path or the API: charge time, but do not change the tree.
    const Elapsed elapsed = take_elapsed(thread, what);
    if (elapsed.is_none()) return;
    thread.record->samples += 1;
    const Ref context = node_of(thread, thread.hot->top);
    charge_own_cost(thread, thread.tree.values_or_root(context), elapsed);
    put_aside(thread, context, elapsed);
    return;
  }
  BusyGuard guard(thread);
  drop_old_entries(guard, thread);
  if (thread.profiles != 0) {
    settle_profiles(thread, filter_by_address(thread.current->gate, thread.hot->top, at.sp));
  }
  const Elapsed elapsed = take_elapsed(thread, what);
  if (elapsed.is_none()) return;
  thread.record->samples += 1;
  if (thread.session->options.throttle != 0) watch_call_rates(guard, thread);
  if (is_ours(*thread.session, at.pc)) {
    const Ref context = counted_context_at(thread, at.sp);
    charge_own_cost(thread, thread.tree.values(guard, context), elapsed);
    put_aside(thread, context, elapsed);
    return;
  }
  Ref context = context_at(guard, thread, at, Reached::kBySignal);
  if (thread.session->options.leaves) context = leaf_of(guard, thread, context, at.pc);
  charge(thread, thread.tree.values(guard, context), context, elapsed);
  put_aside(thread, context, elapsed);
  rest_after_long_walk(thread);
}

void charge_events(ThreadState& thread, const MachineState& at, std::uint64_t events) {
  if (!takes_time(thread) || is_ours(*thread.session, at.pc) || is_busy(thread, at.sp)) return;
  BusyGuard guard(thread);
  drop_old_entries(guard, thread);
  if (thread.profiles != 0) {
    settle_profiles(thread, filter_by_address(thread.current->gate, thread.hot->top, at.sp));
  }
  Ref context = context_at(guard, thread, at, Reached::kBySignal);
  if (thread.session->options.leaves) context = leaf_of(guard, thread, context, at.pc);
  std::uint64_t* values = thread.tree.values(guard, context);
  values[kEvents] += events;
  values[kSamples] += 1;
  thread.record->samples += 1;
}

void charge_fatal(ThreadState& thread, const MachineState& at) {
  if (!takes_time(thread)) return;
  charge_wait_at_end(thread);
  charge_kernel_time(thread);
  thread.record->samples += 1;
  const Ref context = counted_context_at(thread, at.sp);
  charge(thread, thread.tree.values_or_root(context), context, take_elapsed(thread, Sampled::kAll));
}

Ref context_of_rest(const ThreadState& thread) {
  const Ref last = thread.tree.last_sampled();
  return last != 0 ? last : thread.tree.root();
}

void charge_kernel_time(ThreadState& thread) {
  while (!thread.kernel_time.is_empty()) charge_part(thread, thread.kernel_time.take_oldest());
}

void charge_until_stop(ThreadState& thread) {
  const std::uint64_t cpu = thread.stopped_cpu_ns, wall = thread.stopped_wall_ns;
  if (!has_time(thread) || cpu == 0) return;
  charge_kernel_time(thread);
  const Elapsed rest = take_elapsed_until(thread, Sampled::kAll, cpu, wall);
  if (rest.is_none()) return;
  std::uint64_t* values = thread.tree.values_or_root(context_of_rest(thread));
  values[kSamples] += 1;
  values[kCpuNs] += rest.cpu_ns;
  values[kWallNs] += rest.wall_ns;
  if (rest.wall_ns > rest.cpu_ns) charge_unseen(thread, values, rest.wall_ns - rest.cpu_ns);
  thread.record->samples += 1;
}

void charge_rest(ThreadState& thread) {
  if (!thread.session->recording.load(std::memory_order_relaxed)) return charge_until_stop(thread);
  if (!has_time(thread)) return;
  BusyGuard guard(thread);
  if (!guard) return;
  charge_wait_at_end(thread);
  charge_kernel_time(thread);
  thread.record->samples += 1;
  const Ref context = context_of_rest(thread);
  charge(thread, thread.tree.values(guard, context), context, take_elapsed(thread, Sampled::kAll));
}

}  // namespace fbleprof::signal_safe
