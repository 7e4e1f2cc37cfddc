#include "capture/control.h"

#include <errno.h>
#include <signal.h>

#include "arch/kernel.h"
#include "capture/found_threads.h"
#include "capture/profile.h"
#include "capture/signals.h"
#include "capture/switching.h"
#include "capture/threads.h"
#include "capture/unrecorded.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"

// libc's own: we interpose the name without underscores.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace fbleprof::capture {

using arch::kernel_call;
using format::Request;
using signal_safe::kNever;
using signal_safe::session;

namespace {

std::atomic<bool> is_changing{false};

bool may_change() { return is_profiling() && !profile.confined && is_own_process(); }

void start() {
  if (session.recording.load()) return;
  const std::uint64_t duration = profile.settings.duration_ns;
  session.due_ns.store(duration != 0 ? signal_safe::monotonic_ns() + duration : kNever);
  if (are_threads_found()) {
    install_handler();  // a detach may have removed it
    find_threads();     // those that have ended meanwhile have no timers to arm
  }
  profile.began_late = true;
  measure_unrecorded();
  start_all_threads(Charged::kFromNow);
  switch_sites();
  if (are_threads_found()) find_all_threads();
  start_this_thread();
}

void stop() {
  if (!session.recording.load()) return;
  session.due_ns.store(kNever);
  note_unrecorded();
  if (are_threads_found()) find_threads();  // to know those that have ended
  stop_all_threads();
  switch_sites();
  if (are_threads_found()) forget_waiting_threads();
}

// A delay or a duration is over.
void do_what_is_due() {
  if (signal_safe::monotonic_ns() < session.due_ns.load()) return;
  if (session.recording.load()) {
    stop();
  } else {
    start();
  }
}

void do_what_is_asked() {
  format::Header* header = session.arena.header();
  const Request request = __atomic_exchange_n(&header->request, Request::kNone, __ATOMIC_ACQ_REL);
  if (request == Request::kStart) start();
  if (request == Request::kStop) stop();
}

// Prevents other changes while it lives. It blocks all signals, because a handler might wait for
// us.
class Change {
 public:
  explicit Change(bool waits) {
    bool idle = false;
    while (!(held_ = is_changing.compare_exchange_strong(idle, true)) && waits) {
      idle = false;
      kernel_call(SYS_sched_yield);
    }
  }
  ~Change() {
    if (held_) is_changing.store(false);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  explicit operator bool() const { return held_; }

 private:
  AllSignalsBlocked guard_;
  bool held_ = false;
};

// Runs in a handler or a hook: a change that is not possible at this moment is left to the next
// one.
void obey() {
  if (!may_change()) return;
  const int saved_errno = errno;
  if (const Change change{false}) {
    do_what_is_due();
    do_what_is_asked();
  }
  errno = saved_errno;
}

void on_control_signal(int) {
  if (!may_change()) return;
  __atomic_store_n(&session.arena.header()->request,
                   session.recording.load() ? Request::kStop : Request::kStart, __ATOMIC_RELEASE);
  obey();
}

void watch_control_signal(int number) {
  if (number == 0) return;
  struct sigaction action {};
  action.sa_handler = on_control_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  __sigaction(number, &action, nullptr);
}

}  // namespace

void begin_recording(const Settings& settings) {
  session.obey = obey;
  watch_control_signal(settings.control_signal);
  if (!settings.start) return;
  if (settings.delay_ns == 0) {
    if (settings.duration_ns != 0) {
      session.due_ns.store(session.start_monotonic_ns + settings.duration_ns);
    }
    start_all_threads(Charged::kFromAttaching);
    if (are_threads_found()) find_all_threads();
    return;
  }
  session.due_ns.store(session.start_monotonic_ns + settings.delay_ns);
  stop_all_threads(Stopped::kWatching);
}

void go_on_watching() {
  if (!session.recording.load() && session.due_ns.load() != kNever) {
    stop_all_threads(Stopped::kWatching);
  }
}

bool is_control_signal(int number) {
  return number != 0 && number == profile.settings.control_signal;
}

void start_recording() {
  if (!may_change()) return;
  const Change change{true};
  if (may_change()) start();
}

void stop_recording() {
  if (!may_change()) return;
  const Change change{true};
  if (may_change()) stop();
}

bool do_while_stopped(bool (*function)()) {
  const Change change{false};
  return change && !session.recording.load() && function();
}

void forget_changes_under_way() { is_changing.store(false); }

}  // namespace fbleprof::capture
