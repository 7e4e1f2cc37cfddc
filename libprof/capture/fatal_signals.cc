#include "capture/fatal_signals.h"

#include <errno.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "capture/ending.h"
#include "capture/profile.h"
#include "signal_safe/arch/x86_64/kernel.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"

// libc's own: the name without underscores is the program's, and comes to us.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace fbleprof::capture {

using signal_safe::kernel_call;
using signal_safe::kernel_failed;
using signal_safe::session;

namespace {

constexpr int kFatalSignals[] = {SIGHUP, SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,
                                 SIGFPE, SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU};
constexpr long kPage = 4096;

bool is_fault(int number, int code) {
  return code > 0 &&
         (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL);
}

// Whether the fault was ours, and is mended.
bool replace_lost_file(const siginfo_t* info) {
  const auto address = reinterpret_cast<long>(info->si_addr);
  const auto begin = reinterpret_cast<long>(session.arena.base());
  const long end = begin + static_cast<long>(session.arena.cap_bytes());
  if (begin == 0 || address < begin || address >= end) return false;
  const long page = address / kPage * kPage;
  abandon_profile();
  return !kernel_failed(kernel_call(SYS_mmap, page, end - page, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                                    0));
}

void on_fatal(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (number == SIGBUS && info->si_code > 0 && replace_lost_file(info)) {
    errno = saved_errno;
    return;
  }
  if (fbleprof_hot.top && fbleprof_hot.self->canary->alive && is_profiling()) {
    const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    signal_safe::charge_fatal(*fbleprof_hot.self, {static_cast<std::uint64_t>(registers[REG_RIP]),
                                                   static_cast<std::uint64_t>(registers[REG_RSP]),
                                                   static_cast<std::uint64_t>(registers[REG_RBP])});
  }
  finish_process(format::State::kFatal, static_cast<std::uint32_t>(number));
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  __sigaction(number, &action, nullptr);
  if (!is_fault(number, info->si_code)) {
    kernel_call(SYS_rt_tgsigqueueinfo, kernel_call(SYS_getpid), kernel_call(SYS_gettid), number,
                reinterpret_cast<long>(info));
  }
  errno = saved_errno;
}

}  // namespace

void watch_fatal_signals() {
  // The kernel gives the first process of a namespace no signal that it has no handler for.
  if (kernel_call(SYS_getpid) == 1) return;
  for (const int number : kFatalSignals) {
    struct sigaction old {};
    if (__sigaction(number, nullptr, &old) != 0 || (old.sa_flags & SA_SIGINFO) ||
        old.sa_handler != SIG_DFL) {
      continue;
    }
    struct sigaction action {};
    action.sa_sigaction = on_fatal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    __sigaction(number, &action, nullptr);
  }
}

void hide_fatal_handler(struct sigaction* action) {
  if (action && (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fatal) *action = {};
}

SignalHandler without_fatal_handler(SignalHandler handler) {
  return handler == reinterpret_cast<SignalHandler>(reinterpret_cast<void*>(on_fatal)) ? SIG_DFL
                                                                                       : handler;
}

}  // namespace fbleprof::capture
