#include "capture/kept_snapshots.h"

#include <atomic>

#include "arch/kernel.h"
#include "capture/profile.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "signal_safe/kept_snapshots.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

namespace {

std::atomic<bool> is_taking{false};

// Calls take(ns since the start of the profile) while no other thread takes a snapshot.
template <typename Take>
int take_alone(Take take) {
  if (!is_profiling() || !is_own_process()) return -1;
  charge_rest_of_this_thread();
  const AllSignalsBlocked guard;
  while (is_taking.exchange(true)) {
    // No system calls, and the guard does nothing: this may be a handler in the other's thread.
    if (profile.confined) return -1;
    arch::kernel_call(SYS_sched_yield);
  }
  const bool taken = take(signal_safe::monotonic_ns() - session.start_monotonic_ns);
  is_taking.store(false);
  return taken ? 0 : -1;
}

}  // namespace

int take_snapshot(const char* name) {
  constexpr std::uint32_t kMostBytes = 255;
  std::uint32_t length = 0;
  while (name[length] && length < kMostBytes) ++length;
  return take_alone([&](std::uint64_t now) {
    return signal_safe::take_named_snapshot(session.arena, name, length, now);
  });
}

void forget_snapshots_under_way() { is_taking.store(false); }

int count_anew() {
  return take_alone(
      [](std::uint64_t now) { return signal_safe::take_reset_snapshot(session.arena, now); });
}

}  // namespace fbleprof::capture
