#include "capture/interrupted_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <ucontext.h>

#include <cstdint>

#include "arch/kernel.h"
#include "arch/registers.h"
#include "capture/signals.h"

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
bool is_set_back(const std::uint64_t* registers) {
  constexpr std::uint64_t kCallBytes = 2;
  return registers[arch::kGregCx] - registers[arch::kGregPc] == kCallBytes &&
         ends_or_restarts(registers[REG_RAX], registers[REG_RSI]);
}

std::uint64_t* registers_of(void* context) {
  return reinterpret_cast<std::uint64_t*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs);
}

void end_call(std::uint64_t* registers) {
  registers[REG_RAX] = static_cast<std::uint64_t>(-EINTR);
  registers[arch::kGregPc] = registers[arch::kGregCx];
}

}  // namespace

void end_call_for(const struct sigaction& action, void* context) {
  std::uint64_t* registers = registers_of(context);
  if ((action.sa_flags & SA_RESTART) == 0 && is_set_back(registers)) end_call(registers);
}

void end_call_for_pending(void* context) {
  std::uint64_t* registers = registers_of(context);
  if (!is_set_back(registers)) return;
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
    if (kernel_failed(kernel_call(SYS_rt_sigaction, __builtin_ctzll(left) + 1, 0,
                                  reinterpret_cast<long>(&action), sizeof action.mask))) {
      continue;
    }
    const struct sigaction programs = from_kernel(action);
    if (!is_handled(programs)) continue;
    if ((programs.sa_flags & SA_RESTART) == 0) end_call(registers);
    return;
  }
}

}  // namespace fbleprof::capture
