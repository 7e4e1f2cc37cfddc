#include "capture/process.h"

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <time.h>

#include <algorithm>
#include <new>
#include <type_traits>

#include "arch/machine.h"
#include "capture/allocations.h"
#include "capture/children.h"
#include "capture/clock.h"
#include "capture/confinement.h"
#include "capture/control.h"
#include "capture/fatal_signals.h"
#include "capture/fork_child.h"
#include "capture/found_threads.h"
#include "capture/loader_symbols.h"
#include "capture/loading.h"
#include "capture/modules.h"
#include "capture/own_memory.h"
#include "capture/process_facts.h"
#include "capture/profile.h"
#include "capture/sampling_timer.h"
#include "capture/signal_stack.h"
#include "capture/signals.h"
#include "capture/stack_bounds.h"
#include "capture/threads.h"
#include "capture/unrecorded.h"
#include "capture/waits.h"
#include "capture/wrappers.h"
#include "signal_safe/pages.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

namespace {

void learn_signal_frames() {
  session.signal_frame_bytes = std::max(session.signal_frame_bytes, signal_frame_bytes());
}

void find_loaded_objects() {
  signal_safe::ask_loader(next_definition("_dl_find_object"));
  if (getauxval(AT_PHENT) == sizeof(Elf64_Phdr)) {
    signal_safe::describe_program(reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR)),
                                  static_cast<std::uint32_t>(getauxval(AT_PHNUM)));
  }
  signal_safe::LoadedObject own;
  if (!signal_safe::find_object(reinterpret_cast<std::uint64_t>(fbleprof_hooks_begin), &own))
    return;
  session.text_begin = own.begin;
  session.text_end = own.end;
}

void (*tell_end_of_thread)() = nullptr;

// libc knows the threads that it starts for itself (of timers, say). It does not know those that
// the program makes by clone.
bool is_known_to_libc() {
  return pthread_self() == reinterpret_cast<pthread_t>(__builtin_thread_pointer());
}

// Attaches a thread that we did not see start.
void attach_unknown_thread() {
  if (!owns_profile()) return;
  if (!takes_threads()) {  // the program has confined itself
    if (is_profiling()) count_lost_thread();
    return;
  }
  if (handler_is_installed()) open_mask_of_thread();
  SamplingBlocked guard;
  attach_this_thread({0, 0}, 0);
  // A filter that confined the program before its start may forbid the question.
  if (profile.perf_allowed) learn_signal_stack();
  if (fbleprof_hot.top && tell_end_of_thread && is_known_to_libc()) tell_end_of_thread();
}

// Static sanitizers have their own clock_gettime, which fails until they are initialised.
bool is_clock_libcs() {
  return next_definition("clock_gettime") == reinterpret_cast<void*>(&clock_gettime);
}

void remark_complaints() {
  for (const char* line = profile.settings.complaints.c_str(); *line;) {
    Text<512> one;
    while (*line && *line != '\n') one.add(*line++);
    if (*line) ++line;
    remark(one.c_str());
  }
}

}  // namespace

void start_process(char** environment, void (*tell_end)()) {
  tell_end_of_thread = tell_end;
  if (getauxval(AT_SECURE) != 0) return;
  const arch::Processor processor;
  if (const char* feature = processor.missing_feature()) {
    say(Text<80>{"this processor lacks "}.add(feature).add(": not profiled").c_str());
    return;
  }
  fbleprof_has_xsave = processor.has_xsave();
  const std::uint64_t cpu_at_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  session.clocks_by_system_call.store(!is_clock_libcs());
  // Read together: the difference of the two clocks is what the first wait may take.
  const std::uint64_t wall_at_start = signal_safe::monotonic_ns();
  // In their place: a copy of their many pages takes longer than to read them.
  static_assert(std::is_trivially_destructible_v<Settings>);
  new (&profile.settings) Settings(read_settings(environment));
  if (are_threads_found()) profile.settings.program_pid = own_pid();
  if (!is_wanted(profile.settings)) return;
  const ProcessStatus status = process_status();
  // Perhaps by mlockall: nothing tells. If so, our library is locked.
  if (status.has_locked_memory) signal_safe::expect_locked_mappings();
  find_loaded_objects();
  add_interposed();
  find_allocator(profile.settings);
  // A new kind of system call might kill a confined program. timer_create is still used there: it
  // is older and more common than perf_event_open.
  profile.perf_allowed = !status.is_confined;
  settle_event(profile.settings, profile.perf_allowed);
  learn_signal_frames();
  find_wrappers(profile.settings);
  settle_switches(profile.settings, profile.perf_allowed);
  if (!are_threads_found()) session.attach_thread = attach_unknown_thread;
  session.adopt_forked_child = become_own_process;
  const SameLimit same_limit(!are_threads_found());  // then the program has not begun
  // From its first byte on, the file may be truncated. Actions that the program sets while it is
  // not watched would not reach our handlers.
  if (!are_threads_found()) watch_fatal_signals(status.default_signals);
  if (!open_profile(nullptr, wall_at_start)) return stop_watching_fatal_signals();
  add_loaded_modules();
  remark_complaints();
  if (profile.settings.recording.clock != format::Clock::kTicks) {
    install_handler();
    if (!are_threads_found()) open_mask_of_thread();
  }
  if (are_threads_found()) {
    on_samples_of_found_threads([](std::uint64_t sp) {
      if (!fbleprof_hot.top && session.recording.load()) attach_found_thread(sp);
      if (session.recording.load() && find_threads_sometimes()) note_unrecorded();
    });
  } else {
    SamplingBlocked guard;
    attach_this_thread(bounds_of_main_thread(), cpu_at_start);
  }
  if (!profile.perf_allowed) catch_faults_of_peeks();
  begin_recording(profile.settings);
  session.arena.header()->state = format::State::kLive;
  if (are_threads_found()) return;
  fbleprof_attach_lazily = 1;
  prepare_modules();
}

}  // namespace fbleprof::capture
