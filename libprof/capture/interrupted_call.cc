#include "capture/interrupted_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "arch/kernel.h"
#include "arch/registers.h"
#include "capture/kernel_action.h"

namespace fbleprof::capture {

namespace {

using arch::kernel_call;
using arch::kernel_failed;

// Whether the kernel ends this call with EINTR for a handler without SA_RESTART, and restarts it
// for one with. It restarts others for either (clone, execve, a futex with inheritance of
// priority), or for neither: those return EINTR, whoever interrupts them.
bool ends_or_restarts(std::uint64_t number, std::uint64_t second_argument) {
  switch (number) {
    case SYS_futex: {
      const auto operation = static_cast<int>(second_argument) & FUTEX_CMD_MASK;
      return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    }
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_ioctl:
    case SYS_open:
    case SYS_openat:
    case SYS_openat2:
    case SYS_creat:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_sendfile:
    case SYS_copy_file_range:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_getrandom:
      return true;
    default:
      return false;
  }
}

// Whether the context is that of a call which was set back to be restarted, and may be ended.
bool is_set_back(const void* context) {
  const arch::CallSetBack call = arch::call_set_back(context);
  return call.is_there && ends_or_restarts(call.number, call.second_argument);
}

}  // namespace

void end_call_for(const struct sigaction& action, void* context) {
  if ((action.sa_flags & SA_RESTART) == 0 && is_set_back(context)) {
    arch::end_call_set_back(context, EINTR);
  }
}

void end_call_for_pending(void* context) {
  if (!is_set_back(context)) return;
  std::uint64_t pending = 0, blocked;
  if (kernel_failed(
          kernel_call(SYS_rt_sigpending, reinterpret_cast<long>(&pending), sizeof pending))) {
    return;
  }
  __builtin_memcpy(&blocked, &static_cast<const ucontext_t*>(context)->uc_sigmask, sizeof blocked);
  // The kernel delivers the lowest first, unless others were sent to the thread. Its handler
  // decides.
  for (std::uint64_t left = pending & ~blocked; left != 0; left &= left - 1) {
    KernelAction action{};
    const bool is_known =
        !kernel_failed(kernel_call(SYS_rt_sigaction, __builtin_ctzll(left) + 1, 0,
                                   reinterpret_cast<long>(&action), sizeof action.mask));
    if (!is_known || action.handler == SIG_DFL || action.handler == SIG_IGN) continue;
    if ((action.flags & SA_RESTART) == 0) arch::end_call_set_back(context, EINTR);
    return;
  }
}

}  // namespace fbleprof::capture
