#include "capture/ending.h"

#include <sys/prctl.h>

#include "capture/clock.h"
#include "capture/description.h"
#include "capture/found_threads.h"
#include "capture/gdb_jit.h"
#include "capture/generated_functions.h"
#include "capture/jitdump.h"
#include "capture/leaks.h"
#include "capture/perf_map.h"
#include "capture/profile.h"
#include "capture/sampling_timer.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "capture/unknown_names.h"
#include "capture/unrecorded.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"
#include "signal_safe/waits.h"

namespace fbleprof::capture {

using format::State;
using signal_safe::session;
using signal_safe::ThreadState;

namespace {

bool has_time() { return profile.settings.recording.clock != format::Clock::kTicks; }

// The calling thread gets no more samples, so charge its remaining time now.
void charge_this_thread() {
  if (!fbleprof_hot.top) return;
  disarm_timer(*fbleprof_hot.self);
  drain_pending();
  signal_safe::charge_rest(*fbleprof_hot.self);
  signal_safe::flush_level(*fbleprof_hot.self);
  arch::kernel_call(SYS_prctl, PR_GET_NAME,
                    reinterpret_cast<long>(fbleprof_hot.self->record->name));
}

// With waits, elapsed time is charged completely, too: the wait in a known call, and the rest of
// the time off the processor.
void charge_elapsed(ThreadState& thread, std::uint64_t cpu) {
  if (thread.is_left_out) return;
  const std::uint64_t wall = signal_safe::monotonic_ns();
  signal_safe::charge_open_wait(thread, cpu, wall);
  const std::uint64_t used = cpu > thread.last_cpu_ns ? cpu - thread.last_cpu_ns : 0;
  std::uint64_t passed = wall > thread.last_wall_ns ? wall - thread.last_wall_ns : 0;
  if (passed < used) passed = used;
  std::uint64_t* values = thread.tree.values_or_root(signal_safe::context_of_rest(thread));
  values[signal_safe::kWallNs] += passed;
  signal_safe::charge_unseen(thread, values, passed - used);
  thread.record->wall_ns += passed;
  thread.last_wall_ns = wall;
}

// The thread that ends the process charges the threads that still run.
void charge_from_outside(ThreadState& thread) {
  if (thread.busy || thread.hot == &fbleprof_hot || thread.is_left_out) return;
  // It may be about to turn recording on.
  if (!session.recording.load() || thread.stopped_cpu_ns != 0) {
    return signal_safe::charge_until_stop(thread);
  }
  const std::uint64_t cpu = clock_ns(cpu_clock_of(thread.tid));
  if (cpu == 0) return;  // it has just ended
  signal_safe::charge_kernel_time(thread);
  if (thread.waits != nullptr) charge_elapsed(thread, cpu);
  if (cpu <= thread.last_cpu_ns) return;
  const std::uint64_t rest = cpu - thread.last_cpu_ns;
  std::uint64_t* values = thread.tree.values_or_root(signal_safe::context_of_rest(thread));
  values[signal_safe::kSamples] += 1;
  values[signal_safe::kCpuNs] += rest;
  thread.record->samples += 1;
  thread.record->cpu_ns += rest;
  thread.last_cpu_ns = cpu;
}

bool is_only_thread() {
  int others = 0;
  for_each_attached(
      [](ThreadState& thread, void* count) {
        if (thread.hot != &fbleprof_hot) ++*static_cast<int*>(count);
      },
      &others);
  return others == 0;
}

// A summary of the profile's contents.
struct Content {
  std::uint64_t cpu_ns = 0;
  bool hooked = false;  // or has ticks outside of hooked functions
  bool allocated = false;
  bool waited = false;
  bool lost = false;  // has lost something, and says so
};

// A child that only execs, or that ends within two sampling periods, has nothing to show. Programs
// that start thousands of such children must not leave thousands of files.
bool is_trivial(const Content& content, State state) {
  return state != State::kFatal && !content.hooked && !content.allocated && !content.waited &&
         !content.lost && content.cpu_ns < std::uint64_t{2'000'000'000} / profile.settings.rate_hz;
}

// Reads records only until it is known that there is something to show: a program may try exec
// thousands of times, with a large profile.
Content content_of_profile(State state) {
  Content content;
  constexpr std::uint64_t kLongWaitNs = 100'000'000;
  // A child that only execs also allocates a little.
  constexpr std::int64_t kMuch = 1 << 20;
  content.allocated = session.allocations.next_peak.load(std::memory_order_relaxed) > kMuch;
  const signal_safe::Arena& arena = session.arena;
  content.lost =
      arena.header()->lost_threads + arena.header()->lost_children != 0 || profile.tells_a_loss;
  const auto is_known = [&] {
    return content.hooked || (has_time() && !is_trivial(content, state));
  };
  arena.for_each(format::Kind::kThread, [&](format::Ref ref) {
    const auto* thread = arena.at<format::Thread>(ref);
    content.cpu_ns += thread->cpu_ns;
    content.waited |= session.options.waits && thread->wall_ns > thread->cpu_ns + kLongWaitNs;
    content.hooked |= (thread->flags & format::kThreadHooked) != 0;
    return !is_known();
  });
  if (is_known()) return content;
  arena.for_each(format::Kind::kTree, [&](format::Ref ref) {
    const auto* root = arena.at<format::Node>(arena.at<format::Tree>(ref)->root);
    const bool ticks = arena.at<std::uint64_t>(root->values)[signal_safe::kTicks] != 0;
    content.hooked |= ticks;
    return !ticks;
  });
  return content;
}

// Later, the program's map may be gone, or another process may have the same id.
void name_generated_code(State state) {
  GeneratedFunctions functions;
  name_by_perf_map(functions);
  name_by_jitdump(functions);
  // Looking at the loader's list is not safe in a handler.
  if (state == State::kEnded) name_by_gdb_interface(functions);
}

void say_not_written(OutputFile& output) {
  // Once: a program may try exec in one directory after the other.
  if (output.is_loss_said) return;
  output.is_loss_said = true;
  Path line = output.name.path;
  if (output.name.failure.empty()) {
    line.add(": cannot be written: the profile is lost");
  } else {
    line = output.name.failure.c_str();
    line.add("; the profile is lost");
  }
  say(line.c_str());
}

void leave_file(State state, bool is_trivial) {
  OutputFile& output = profile.output;
  const auto is_superfluous = [&] {
    return is_trivial && output.name.is_secondary && state == State::kEnded;
  };
  if (is_superfluous()) return remove_output(output);
  // The next program would remove it.
  if (output.anonymous && is_trivial && state == State::kExeced) return;
  if (!close_output(output, session.arena.populated_bytes())) return say_not_written(output);
  // The name of an anonymous profile is known only now.
  if (output.anonymous && is_superfluous()) remove_output(output);
}

}  // namespace

void finish_process(State state, std::uint32_t code) {
  abandon_truncated_profile();
  if (!is_profiling()) return;
  format::Header* header = session.arena.header();
  if (profile.confined) {
    // A child that nobody noticed must not end its parent's profile.
    if (was_thread_memory_wiped()) return;
    // A system call might end the program in a different way than it chose. This may also be the
    // end of a child of vfork, which nothing tells: its parent goes on.
    describe_end(code, false);
    header->state = state;
    return;
  }
  if (!is_own_process()) return;
  SamplingBlocked guard;
  profile.finished = true;
  if (session.recording.load()) note_unrecorded();
  charge_this_thread();
  if (has_time()) {
    for_each_attached([](ThreadState& thread, void*) { charge_from_outside(thread); }, nullptr);
  }
  if (state == State::kEnded) charge_leaks();
  if (session.code_map.generated_count() != 0) name_generated_code(state);
  header->process_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  header->end_monotonic_ns = signal_safe::monotonic_ns();
  const Content content = content_of_profile(state);
  if (!has_time() && !content.hooked && !profile.output.name.is_secondary &&
      state == State::kEnded) {
    remark(
        "the clock of ticks counts calls and ticks only, and nothing with hooks ran: "
        "there is nothing to show");
  }
  if (state != State::kExeced && !are_threads_found()) remark_unknown_names();
  if (take_lack_of_timers()) {
    remark("threads are not sampled: this user has too many timers (ulimit -i)");
  }
  // A snapshot that `fble-prof` took may lie behind what is populated.
  session.arena.reserve(0);
  // Another thread may be about to use any populated part of the file.
  if (is_only_thread()) {
    session.arena.freeze_short();
  } else {
    // They go on if exec fails, and find new contexts until then.
    constexpr std::uint64_t kRoomDuringExec = 1024 * 1024;
    if (state == State::kExeced) session.arena.reserve(kRoomDuringExec);
    session.arena.freeze();
  }
  const bool trivial = is_trivial(content, state);
  describe_end(code, trivial && state == State::kExeced);
  header->state = state;
  leave_file(state, trivial);
}

}  // namespace fbleprof::capture
