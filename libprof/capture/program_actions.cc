#include "capture/program_actions.h"

#include <errno.h>

#include "arch/kernel.h"
#include "capture/fatal_signals.h"
#include "capture/found_threads.h"
#include "capture/signals.h"

namespace fbleprof::capture {

using arch::kernel_call;

namespace {

bool is_sampling_signal(int number) { return number == kSamplingSignal && handler_is_installed(); }

// The kernel looks at the program's addresses, so that a bad one fails as it does without us. These
// calls do nothing else: they are wrong, or ask what everybody knows.
bool can_read_action(const void* action) {
  return kernel_call(SYS_rt_sigaction, SIGKILL, reinterpret_cast<long>(action), 0,
                     sizeof(std::uint64_t)) != -EFAULT;
}
bool can_write_action(void* action) {
  return kernel_call(SYS_rt_sigaction, SIGKILL, 0, reinterpret_cast<long>(action),
                     sizeof(std::uint64_t)) != -EFAULT;
}

// As the kernel keeps it and tells it again: nothing blocks SIGKILL and SIGSTOP, and flags that
// nobody knows are dropped (since Linux 5.11).
struct sigaction as_kept(const struct sigaction& action) {
  constexpr unsigned kExposeTagBits = 0x800;
  constexpr unsigned kKnownFlags = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK |
                                   SA_RESTART | SA_NODEFER | SA_RESETHAND | kHasRestorer |
                                   kExposeTagBits;
  struct sigaction kept = action;
  kept.sa_flags &= static_cast<int>(kKnownFlags);
  sigdelset(&kept.sa_mask, SIGKILL);
  sigdelset(&kept.sa_mask, SIGSTOP);
  return kept;
}

int set(int number, const struct sigaction* action, struct sigaction* old,
        SetAction in_kernel = set_kernel_action) {
  struct sigaction kept {};
  if (action) kept = as_kept(*action);
  const struct sigaction* given = action ? &kept : nullptr;
  return is_sampling_signal(number) ? set_program_action(given, old)
                                    : set_watched_action(number, given, old, in_kernel);
}

}  // namespace

bool is_ours_to_set(int number) { return is_sampling_signal(number) || is_watched(number); }

int set_action(int number, const struct sigaction* action, struct sigaction* old) {
  // In an attached program, libc's calls lead to us.
  const SetAction in_kernel = are_threads_found() ? set_kernel_action : set_action_by_libc;
  if (!action) return set(number, nullptr, old, in_kernel);
  const struct sigaction with_way_back = as_libc_sets(*action);
  return set(number, &with_way_back, old, in_kernel);
}

long set_action_by_call(int number, const void* action, void* old) {
  struct sigaction given {
  }, before{};
  if (action && !can_read_action(action)) return -EFAULT;
  if (action) given = from_kernel(*static_cast<const KernelAction*>(action));
  if (set(number, action ? &given : nullptr, &before) != 0) return -errno;
  // Like the kernel, which has set the new action by now.
  if (old && !can_write_action(old)) return -EFAULT;
  if (old) *static_cast<KernelAction*>(old) = to_kernel(before);
  return 0;
}

}  // namespace fbleprof::capture
