#include "capture/exec.h"

#include <errno.h>

#include "capture/description.h"
#include "capture/ending.h"
#include "capture/found_threads.h"
#include "capture/profile.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

Exec::Exec()
    : is_own_(!profile.confined && is_own_process()), is_profiled_(is_own_ && is_profiling()) {
  if (is_own_ && are_threads_found()) is_finding_held_ = hold_finding_back();
  if (is_profiled_) {
    profile.is_in_exec = true;
    finish_process(format::State::kExeced, 0);
  }
  if (is_own_ && are_threads_found()) {
    hand_over_from_found_thread();
  } else if (!profile.confined) {
    hand_over_to_next_program();
  }
}

Exec::~Exec() {
  const int saved_errno = errno;
  if (is_own_ && are_threads_found()) {
    take_back_in_found_thread();
  } else if (!are_threads_found() && !profile.confined) {
    take_back_from_next_program();
  }
  if (is_profiled_) {
    profile.finished = false;
    describe_going_on();
    signal_safe::Arena& arena = session.arena;
    if (reopen_output(profile.output, arena.populated_bytes())) arena.thaw();
    arm_this_thread();
    profile.is_in_exec = false;
  }
  if (is_finding_held_) let_finding_go_on();
  // Without this, a program that calls exec all the time would hardly look.
  if (is_profiled_ && session.has_orders()) session.obey();
  // Nothing waits any more for a thread that was not attached yet. One that calls exec all the time
  // is hardly found by its CPU time.
  if (is_profiled_ && are_threads_found() && !fbleprof_hot.top && session.recording.load()) {
    attach_borrowed_thread();
    find_threads();
  }
  errno = saved_errno;
}

}  // namespace fbleprof::capture
