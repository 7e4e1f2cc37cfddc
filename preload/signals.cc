// The program's own use of signals: it sees the actions and masks that it set, and never ours.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include "capture/fatal_signals.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "interposed.h"

namespace {
namespace original = fbleprof::preload::original;
namespace capture = fbleprof::capture;
using Handler = void (*)(int);
using capture::without_sampling_signal;

bool is_sampling_signal(int number) {
  return number == capture::kSamplingSignal && capture::handler_is_installed();
}

// signal() in terms of sigaction, for the one signal that is not the kernel's to know.
Handler set_handler(Handler handler, int flags) {
  struct sigaction action {
  }, old{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  capture::set_program_action(&action, &old);
  return old.sa_handler;
}
}  // namespace

FBLEPROF_INTERPOSE int sigaction(int number, const struct sigaction* action,
                                 struct sigaction* old) noexcept {
  if (is_sampling_signal(number)) return capture::set_program_action(action, old);
  const int result = original::sigaction(number, action, old);
  if (result == 0) capture::hide_fatal_handler(old);
  return result;
}
FBLEPROF_INTERPOSE Handler signal(int number, Handler handler) noexcept {
  if (is_sampling_signal(number)) return set_handler(handler, SA_RESTART);
  return capture::without_fatal_handler(original::signal(number, handler));
}
FBLEPROF_INTERPOSE Handler bsd_signal(int number, Handler handler) noexcept {
  return signal(number, handler);
}
FBLEPROF_INTERPOSE Handler ssignal(int number, Handler handler) noexcept {
  return signal(number, handler);
}
FBLEPROF_INTERPOSE Handler __sysv_signal(int number, Handler handler) noexcept {
  if (is_sampling_signal(number)) {
    return set_handler(handler, static_cast<int>(SA_RESETHAND | SA_NODEFER));
  }
  return capture::without_fatal_handler(original::__sysv_signal(number, handler));
}
FBLEPROF_INTERPOSE Handler sysv_signal(int number, Handler handler) noexcept {
  return __sysv_signal(number, handler);
}

// System V's: sets the action and takes the signal out of the mask, or puts it there.
FBLEPROF_INTERPOSE Handler sigset(int number, Handler handler) noexcept {
  if (!is_sampling_signal(number)) {
    return capture::without_fatal_handler(original::sigset(number, handler));
  }
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, number);
  struct sigaction old {};
  capture::set_program_action(nullptr, &old);
  const int how = handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK;
  if (handler != SIG_HOLD) set_handler(handler, 0);
  capture::program_sigmask(how, &one, &before, original::sigprocmask.get());
  return sigismember(&before, number) == 1 ? SIG_HOLD : old.sa_handler;
}

FBLEPROF_INTERPOSE int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return capture::program_sigmask(how, set, old, original::sigprocmask.get());
}
FBLEPROF_INTERPOSE int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return capture::program_sigmask(how, set, old, original::pthread_sigmask.get());
}

// Masks that last for one call, and sets to wait for. Each is the program's set without ours.
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
FBLEPROF_INTERPOSE int epoll_pwait(int fd, epoll_event* events, int most, int timeout,
                                   const sigset_t* set) {
  sigset_t own;
  return original::epoll_pwait(fd, events, most, timeout, without_sampling_signal(set, &own));
}
// Waiting for the sampling signal itself: the kernel never has it pending, so that ours is not
// taken for the program's. The handler notes the program's, and interrupts the wait.
FBLEPROF_INTERPOSE int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  sigset_t own;
  const sigset_t* others = without_sampling_signal(set, &own);
  if (others == set) return original::sigtimedwait(set, info, timeout);
  if (capture::take_pending_signal(info)) return capture::kSamplingSignal;
  const int result = original::sigtimedwait(others, info, timeout);
  if (result < 0 && errno == EINTR && capture::take_pending_signal(info)) {
    return capture::kSamplingSignal;
  }
  return result;
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
  const int result = original::sigaltstack(stack, old);
  if (result == 0 && stack) {
    const bool off = (stack->ss_flags & SS_DISABLE) != 0;
    capture::note_signal_stack(off ? nullptr : stack->ss_sp, off ? 0 : stack->ss_size);
  }
  return result;
}
