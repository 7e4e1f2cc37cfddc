#include "capture/exec.h"

#include <errno.h>

#include "capture/description.h"
#include "capture/ending.h"
#include "capture/profile.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

Exec::Exec()
    : is_own_(!profile.confined && is_own_process()), is_profiled_(is_own_ && is_profiling()) {
  if (is_profiled_) {
    profile.is_in_exec = true;
    finish_process(format::State::kExeced, 0);
  }
  if (is_own_) hand_over_to_next_program();
}

Exec::~Exec() {
  const int saved_errno = errno;
  if (is_own_) take_back_from_next_program();
  if (is_profiled_) {
    profile.finished = false;
    describe_going_on();
    signal_safe::Arena& arena = signal_safe::session.arena;
    if (reopen_output(profile.output, arena.populated_bytes())) arena.thaw();
    arm_this_thread();
    profile.is_in_exec = false;
  }
  errno = saved_errno;
}

}  // namespace fbleprof::capture
