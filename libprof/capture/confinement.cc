#include "capture/confinement.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include "arch/kernel.h"
#include "capture/capability.h"
#include "capture/fatal_signals.h"
#include "capture/kernel_file.h"
#include "capture/own_memory.h"
#include "capture/profile.h"
#include "capture/sampling_timer.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::session;

namespace {
// Space for new contexts when the recorder may no longer ask the kernel for memory.
constexpr std::uint64_t kBytesUnderConfinement = 4 << 20;
}  // namespace

namespace {
// Charges what passed, and takes what later contexts need.
void stop_measuring() {
  SamplingBlocked guard;
  charge_rest_of_this_thread();
  session.options.waits = false;
  session.code_map.stop_asking_kernel();
  signal_safe::expect_forbidden_calls();
  session.is_confined.store(true, std::memory_order_relaxed);
  disarm_all_threads();
  drain_pending();
  grow_all_memory();
  session.arena.reserve(kBytesUnderConfinement);
  session.pages.live_on_stock(kBytesUnderConfinement);
  session.arena.freeze();
  signal_safe::keep_known_objects();
  close_output(profile.output, session.arena.populated_bytes());
  remark("the program confined itself: from then on calls are counted, time is not");
}
}  // namespace

void before_confinement() {
  if (profile.confined || !is_own_process()) return;
  if (is_profiling()) stop_measuring();
  leave_signal_to_confined_program();
  stop_asking_who_owns_signals();
  profile.confined = true;
  fbleprof_attach_lazily = 0;
  leave_signals_to_confined_program();
}

bool is_confined() { return profile.confined; }

bool may_filter_system_calls() {
  return kernel_call(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
         has_capability(CAP_SYS_ADMIN);
}

void before_counter_is_forbidden() { session.clocks_by_system_call.store(true); }

}  // namespace fbleprof::capture
