// Samples charge elapsed time; they do not count signals. So the sum of all charges is the thread's
// clock, even if signals are late, blocked or merged.
//
// Which context is live:
//  - if the interrupted instruction is ours, the time is our own cost, charged to the context as
//    overhead;
//  - if the shadow stack has live entries, the live rule finds the context, with the interrupted
//    instruction as proof; code without hooks is unwound to the nearest hooked frame;
//  - if it has none, the whole machine stack is walked, and its path followed in the tree.
#include "signal_safe/sample.h"

#include <sys/resource.h>

#include "arch/kernel.h"
#include "signal_safe/elapsed.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// Takes the time to be charged now from the thread's clocks.
Elapsed take_elapsed(ThreadState& thread, Sampled what) {
  const Clocks& clocks = thread.session->clocks;
  const std::uint64_t cpu = clocks.cpu_ns(), wall = clocks.wall_ns();
  const Elapsed elapsed = take_elapsed(thread, what, cpu, wall);
  if (elapsed.is_none()) return elapsed;
  thread.record->cpu_ns += elapsed.cpu_ns;
  thread.record->wall_ns += elapsed.wall_ns;
  thread.session->arena.header()->end_monotonic_ns = wall;
  return elapsed;
}

// Charges the page faults since the last charge where the time goes: an estimate, like a sample.
void charge_faults(ThreadState& thread, std::uint64_t* values) {
  rusage usage;
  if (arch::kernel_failed(
          arch::kernel_call(SYS_getrusage, RUSAGE_THREAD, reinterpret_cast<long>(&usage)))) {
    return;
  }
  const auto minor = static_cast<std::uint64_t>(usage.ru_minflt);
  const auto major = static_cast<std::uint64_t>(usage.ru_majflt);
  values[kMinorFaults] += minor - thread.minor_faults;
  values[kMajorFaults] += major - thread.major_faults;
  thread.minor_faults = minor;
  thread.major_faults = major;
}

// Needs no guard itself: it does not change the tree. `values` are the context's or the root's.
void charge(ThreadState& thread, std::uint64_t* values, Ref context, Elapsed elapsed) {
  thread.last_context = context;
  values[kSamples] += 1;
  values[kCpuNs] += elapsed.cpu_ns;
  values[kWallNs] += elapsed.wall_ns;
  if (thread.session->options.faults) charge_faults(thread, values);
}

void charge_own_cost(std::uint64_t* values, Elapsed elapsed) {
  values[kSamples] += 1;
  values[kOwnCostNs] += elapsed.cpu_ns;
  if (elapsed.wall_ns > elapsed.cpu_ns) values[kWallNs] += elapsed.wall_ns - elapsed.cpu_ns;
}

bool is_ours(const Session& session, std::uint64_t pc) {
  return (pc >= session.text_begin && pc < session.text_end) || session.trampolines.contains(pc);
}

Entry* filter(const ThreadState& thread, std::uint64_t sp) {
  return filter_by_address(thread.current->gate, thread.hot->top, sp);
}

// The newest entry that is live at `at`; a gate when there is none.
Entry* live_entry(ThreadState& thread, const MachineState& at) {
  Entry* top = filter(thread, at.sp);
  const Entry* native = top;
  while (shares_frame_with_below(native)) --native;
  if (is_gate(native)) return top;
  const Ref owner = thread.session->code_map.function_at(at.pc);
  if (owner == 0 || is_entry_of(thread, native, owner)) return top;
  if (thread.session->arena.at<format::Function>(owner)->flags & format::kFunctionHooked) {
    Entry* found = find_owner(thread, top, owner);
    return found ? found : top;
  }
  // Code without hooks. The top may be stale: its function may have returned before its caller
  // called this code.
  return find_by_walk(thread, top, at);
}

// The context of a sampled stack without hooks. If the stack cannot be walked to its end, the known
// part of its path stands under [truncated].
Ref unwound_context(const BusyGuard& guard, ThreadState& thread, const MachineState& at) {
  StackWalk walk(thread, at);
  int frames = 0;
  do {
    thread.frames[frames] = walk.code_address();
    thread.sites[frames] = walk.state().pc;
    ++frames;
  } while (frames < kMaxFrames && walk.next());

  CallTree& tree = thread.tree;
  Ref context = thread.current->base;
  auto step = [&](Ref function, std::uint64_t site) {
    if (function != 0)
      context = tree.enter(guard, context, function, site, format::kEdgeSampled).to;
  };
  if (thread.record->flags & format::kThreadHooked) step(thread.session->unwound, 0);
  if (!walk.is_complete()) step(thread.session->truncated, 0);
  std::uint64_t site = 0;
  for (int i = frames - 1; i >= 0; --i) {
    step(thread.session->code_map.place_at(thread.frames[i]), site);
    site = thread.sites[i];
  }
  return context;
}

Ref leaf_of(const BusyGuard& guard, ThreadState& thread, Ref context, std::uint64_t pc) {
  const Ref function =
      thread.session->code_map.function_with_key(pc, format::FunctionKind::kInstruction);
  if (function == 0) return context;
  return thread.tree.enter(guard, context, function, 0, format::kEdgeSampled).to;
}

// With the clock `ticks`, no time is charged: otherwise no two profiles would be the same.
bool takes_time(const ThreadState& thread) {
  return thread.session->recording.load(std::memory_order_relaxed) &&
         thread.session->options.clock != format::Clock::kTicks;
}

}  // namespace

void charge_sample(ThreadState& thread, const MachineState& at, Sampled what) {
  if (!takes_time(thread)) return;
  if (is_busy(thread, at.sp)) {
    // The slow path or the API was interrupted: do not change the tree, only charge time.
    const Elapsed elapsed = take_elapsed(thread, what);
    if (elapsed.is_none()) return;
    thread.record->samples += 1;
    charge_own_cost(thread.tree.values_or_root(node_of(thread, thread.hot->top)), elapsed);
    return;
  }
  BusyGuard guard(thread);
  const Elapsed elapsed = take_elapsed(thread, what);
  if (elapsed.is_none()) return;
  thread.record->samples += 1;
  if (is_ours(*thread.session, at.pc)) {
    charge_own_cost(thread.tree.values(guard, node_of(thread, filter(thread, at.sp))), elapsed);
    return;
  }
  const Entry* live = live_entry(thread, at);
  Ref context = is_gate(live) ? unwound_context(guard, thread, at) : node_of(thread, live);
  if (thread.session->options.leaves) context = leaf_of(guard, thread, context, at.pc);
  charge(thread, thread.tree.values(guard, context), context, elapsed);
}

void charge_fatal(ThreadState& thread, const MachineState& at) {
  if (!takes_time(thread)) return;
  thread.record->samples += 1;
  const Entry* top = thread.hot->top;
  if (thread.current->contains(at.sp)) top = filter(thread, at.sp);
  const Ref context = node_of(thread, top);
  charge(thread, thread.tree.values_or_root(context), context, take_elapsed(thread, Sampled::kAll));
}

Ref context_of_rest(const ThreadState& thread) {
  return thread.last_context ? thread.last_context : thread.tree.root();
}

void charge_rest(ThreadState& thread) {
  if (!takes_time(thread)) return;
  BusyGuard guard(thread);
  if (!guard) return;
  thread.record->samples += 1;
  const Ref context = context_of_rest(thread);
  charge(thread, thread.tree.values(guard, context), context, take_elapsed(thread, Sampled::kAll));
}

}  // namespace fbleprof::signal_safe
