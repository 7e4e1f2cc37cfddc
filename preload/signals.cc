// The program's own use of signals: it sees only the actions and masks that it set.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "arch/kernel.h"
#include "capture/adapters.h"
#include "capture/own_signal_stack.h"
#include "capture/program_actions.h"
#include "capture/signal_stack.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "interposed.h"

namespace {
namespace original = fbleprof::preload::original;
namespace capture = fbleprof::capture;
using Handler = void (*)(int);
using capture::is_ours_to_set;
using capture::set_action;

// Signals that interrupt system calls if signal() set their handler; see siginterrupt.
std::uint64_t interrupting = 0;

// signal() and the like in terms of sigaction.
Handler set_handler(int number, Handler handler, int flags, bool masks_itself) {
  struct sigaction action {
  }, old{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (masks_itself) sigaddset(&action.sa_mask, number);
  return set_action(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

int flags_of_signal(int number) {
  const bool interrupts = __atomic_load_n(&interrupting, __ATOMIC_RELAXED) >> (number - 1) & 1;
  return interrupts ? 0 : SA_RESTART;
}

// The kernel looks at the program's address, so that a bad one fails as it does without us. The
// call does nothing else: it is wrong.
bool can_read_set(const sigset_t* set) {
  constexpr long kNoWay = -1;
  return fbleprof::arch::kernel_call(SYS_rt_sigprocmask, kNoWay, reinterpret_cast<long>(set), 0,
                                     sizeof(std::uint64_t)) != -EFAULT;
}

// For calls that hand the set to the kernel unread.
const sigset_t* without_sampling_signal(const sigset_t* set, sigset_t* own) {
  // A confined program may have forbidden to ask.
  if (!set || (capture::may_samples_come() && !can_read_set(set))) return set;
  return capture::without_sampling_signal(set, own);
}
}  // namespace

FBLEPROF_INTERPOSE int sigaction(int number, const struct sigaction* action,
                                 struct sigaction* old) noexcept {
  // Load Python's adapter first, when Python is ready.
  if (number == SIGPIPE && action) capture::load_python_adapter();
  if (is_ours_to_set(number)) return set_action(number, action, old);
  return original::sigaction(number, action, old);
}
FBLEPROF_INTERPOSE Handler signal(int number, Handler handler) noexcept {
  if (!is_ours_to_set(number) || handler == SIG_ERR) return original::signal(number, handler);
  return set_handler(number, handler, flags_of_signal(number), true);
}
FBLEPROF_INTERPOSE Handler bsd_signal(int number, Handler handler) noexcept {
  return signal(number, handler);
}
FBLEPROF_INTERPOSE Handler ssignal(int number, Handler handler) noexcept {
  return signal(number, handler);
}
FBLEPROF_INTERPOSE Handler __sysv_signal(int number, Handler handler) noexcept {
  if (!is_ours_to_set(number) || handler == SIG_ERR) {
    return original::__sysv_signal(number, handler);
  }
  return set_handler(number, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER), false);
}
FBLEPROF_INTERPOSE Handler sysv_signal(int number, Handler handler) noexcept {
  return __sysv_signal(number, handler);
}

// System V's: sets the action and unblocks the signal, or blocks it.
FBLEPROF_INTERPOSE Handler sigset(int number, Handler handler) noexcept {
  // Unlike signal(), it takes SIG_ERR for a handler.
  if (!is_ours_to_set(number)) return original::sigset(number, handler);
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, number);
  struct sigaction old {};
  set_action(number, nullptr, &old);
  const int how = handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK;
  if (handler != SIG_HOLD) set_handler(number, handler, 0, false);
  capture::program_sigmask(how, &one, &before, original::sigprocmask.get());
  return sigismember(&before, number) == 1 ? SIG_HOLD : old.sa_handler;
}
FBLEPROF_INTERPOSE int sigignore(int number) noexcept {
  if (!is_ours_to_set(number)) return original::sigignore(number);
  return set_handler(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}
FBLEPROF_INTERPOSE int siginterrupt(int number, int interrupts) noexcept {
  if (!is_ours_to_set(number)) return original::siginterrupt(number, interrupts);
  const std::uint64_t bit = std::uint64_t{1} << (number - 1);
  struct sigaction action {};
  if (set_action(number, nullptr, &action) != 0) return -1;
  if (interrupts) {
    __atomic_fetch_or(&interrupting, bit, __ATOMIC_RELAXED);
    action.sa_flags &= ~SA_RESTART;
  } else {
    __atomic_fetch_and(&interrupting, ~bit, __ATOMIC_RELAXED);
    action.sa_flags |= SA_RESTART;
  }
  return set_action(number, &action, nullptr);
}

FBLEPROF_INTERPOSE int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  capture::look_at_split_stack();
  return capture::program_sigmask(how, set, old, original::sigprocmask.get());
}
FBLEPROF_INTERPOSE int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  capture::look_at_split_stack();
  return capture::program_sigmask(how, set, old, original::pthread_sigmask.get());
}

// Older calls for the mask.
namespace {
int change_mask_by(int how, int number) {
  sigset_t one;
  sigemptyset(&one);
  if (sigaddset(&one, number) != 0) return -1;
  return sigprocmask(how, &one, nullptr);
}
int change_mask_bits(int how, int bits) {
  sigset_t set, old;
  sigemptyset(&set);
  for (int i = 1; i < 32; ++i) {
    if (static_cast<unsigned>(bits) >> (i - 1) & 1) sigaddset(&set, i);
  }
  if (sigprocmask(how, &set, &old) != 0) return -1;
  unsigned before = 0;
  for (int i = 1; i < 32; ++i) before |= sigismember(&old, i) == 1 ? 1u << (i - 1) : 0;
  return static_cast<int>(before);
}
}  // namespace
FBLEPROF_INTERPOSE int sighold(int number) noexcept { return change_mask_by(SIG_BLOCK, number); }
FBLEPROF_INTERPOSE int sigrelse(int number) noexcept { return change_mask_by(SIG_UNBLOCK, number); }
FBLEPROF_INTERPOSE int sigblock(int mask) noexcept { return change_mask_bits(SIG_BLOCK, mask); }
FBLEPROF_INTERPOSE int sigsetmask(int mask) noexcept { return change_mask_bits(SIG_SETMASK, mask); }
FBLEPROF_INTERPOSE int siggetmask() noexcept { return change_mask_bits(SIG_BLOCK, 0); }

// Masks for the duration of one call, and sets to wait for. We pass on each set without our signal.
FBLEPROF_INTERPOSE int sigsuspend(const sigset_t* set) {
  sigset_t own;
  return original::sigsuspend(without_sampling_signal(set, &own));
}
FBLEPROF_INTERPOSE int ppoll(pollfd* fds, nfds_t count, const timespec* timeout,
                             const sigset_t* set) {
  sigset_t own;
  return original::ppoll(fds, count, timeout, without_sampling_signal(set, &own));
}
FBLEPROF_INTERPOSE int pselect(int count, fd_set* read, fd_set* write, fd_set* error,
                               const timespec* timeout, const sigset_t* set) {
  sigset_t own;
  return original::pselect(count, read, write, error, timeout, without_sampling_signal(set, &own));
}
FBLEPROF_INTERPOSE int epoll_pwait2(int fd, epoll_event* events, int most, const timespec* timeout,
                                    const sigset_t* set) {
  sigset_t own;
  if (!original::epoll_pwait2) {  // an older libc, which finds ours
    errno = ENOSYS;
    return -1;
  }
  return original::epoll_pwait2(fd, events, most, timeout, without_sampling_signal(set, &own));
}
FBLEPROF_INTERPOSE int epoll_pwait(int fd, epoll_event* events, int most, int timeout,
                                   const sigset_t* set) {
  sigset_t own;
  return original::epoll_pwait(fd, events, most, timeout, without_sampling_signal(set, &own));
}
FBLEPROF_INTERPOSE int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  sigset_t own;
  const bool is_others = without_sampling_signal(set, &own) == set;
  return is_others
             ? original::sigtimedwait(set, info, timeout)
             : capture::wait_for_program_signal(set, info, timeout, original::sigtimedwait.get());
}
FBLEPROF_INTERPOSE int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  sigset_t own;
  if (without_sampling_signal(set, &own) == set) return original::sigwaitinfo(set, info);
  return sigtimedwait(set, info, nullptr);
}
FBLEPROF_INTERPOSE int sigwait(const sigset_t* set, int* number) {
  sigset_t own;
  if (without_sampling_signal(set, &own) == set) return original::sigwait(set, number);
  int result;
  do result = sigtimedwait(set, nullptr, nullptr);
  while (result < 0 && errno == EINTR);
  if (result < 0) return errno;
  *number = result;
  return 0;
}
FBLEPROF_INTERPOSE int sigpending(sigset_t* set) noexcept {
  const int result = original::sigpending(set);
  if (result == 0 && capture::program_has_pending_signal()) {
    sigaddset(set, capture::kSamplingSignal);
  }
  return result;
}
FBLEPROF_INTERPOSE int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  sigset_t own;
  return original::signalfd(fd, without_sampling_signal(set, &own), flags);
}

FBLEPROF_INTERPOSE int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
  return capture::set_signal_stack(stack, old,
                                   [](const stack_t* given, stack_t* replaced) noexcept {
                                     return original::sigaltstack(given, replaced);
                                   });
}
