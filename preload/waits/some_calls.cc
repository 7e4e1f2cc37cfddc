// Calls of which only some block, a call that takes more words, and jumps out of calls.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <optional>

#include "arch/jump_target.h"
#include "channels.h"
#include "waking.h"

using namespace fbleprof::preload;

namespace {

using OfSevenWords = Word(Word, Word, Word, Word, Word, Word, Word);

[[gnu::noinline]] Word wait_in_seven(Next& callee, std::uint64_t caller, WaitKind kind, Word a,
                                     Word b, Word c, Word d, Word e, Word f, Word g,
                                     const void* object = nullptr) {
  auto* function = callee.as<OfSevenWords>();
  if (function == nullptr) return missing();
  const Waiting waiting(callee, caller, kind, object);
  return function(a, b, c, d, e, f, g);
}

// The futex that a call waits for; null if it does not wait. A call that wakes is reported first.
const void* awaited_futex(std::uint64_t caller, Word futex, Word operation) {
  const auto* object = reinterpret_cast<const void*>(futex);
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
      return object;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_UNLOCK_PI:
      let_go_if_wanted(caller, object);
      return nullptr;
    default:
      return nullptr;
  }
}

// Without descriptors they sleep, up to a time or a signal.
WaitKind kind_of_poll(bool has_descriptors, bool has_end) {
  return has_descriptors || !has_end ? WaitKind::kForPeers : WaitKind::kForOther;
}

WaitKind kind_of_select(Word count, Word in, Word out, Word other, Word end) {
  const bool has_sets = in != 0 || out != 0 || other != 0;
  return kind_of_poll(static_cast<int>(count) != 0 && has_sets, end != 0);
}

// Newer than the headers of some systems.
constexpr Word kFutexWaitv = 449, kFutexWait = 455;

// What a system call may wait for, as the function of its name does; none: it does not block.
std::optional<WaitKind> kind_of_wait(Word number, Word a, Word b, Word c, Word d, Word e) {
  switch (number) {
    case SYS_poll:  // the kernel, too, reads half of the register
      return kind_of_poll(static_cast<int>(b) != 0, static_cast<int>(c) >= 0);
    case SYS_ppoll:
      return kind_of_poll(static_cast<int>(b) != 0, c != 0);
    case SYS_select:
    case SYS_pselect6:
      return kind_of_select(a, b, c, d, e);
    case SYS_preadv2:
      return d == -1 ? WaitKind::kForPeers : WaitKind::kForOther;
    case SYS_accept:
    case SYS_accept4:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_rt_sigtimedwait:
      return WaitKind::kForEvents;
    case SYS_futex:
    case kFutexWait:
    case kFutexWaitv:
    case SYS_io_getevents:
    case SYS_io_uring_enter:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
      return WaitKind::kForPeers;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_copy_file_range:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_flock:
      return WaitKind::kForOther;
    default:
      return std::nullopt;
  }
}

}  // namespace

#define FBLEPROF_POLL(name, has_end)                                                   \
  FBLEPROF_WRAPPER(Word, name, Word at, Word count, Word end, Word d, Word e) {        \
    const WaitKind kind = kind_of_poll(count != 0, has_end);                           \
    return wait_for(next::name, FBLEPROF_CALLER, kind, nullptr, at, count, end, d, e); \
  }
FBLEPROF_POLL(poll, static_cast<int>(end) >= 0)
FBLEPROF_POLL(__poll_chk, static_cast<int>(end) >= 0)
FBLEPROF_POLL(ppoll, end != 0)
FBLEPROF_POLL(__ppoll_chk, end != 0)

#define FBLEPROF_SELECT(name)                                                            \
  FBLEPROF_WRAPPER(Word, name, Word count, Word b, Word c, Word d, Word end, Word f) {   \
    const WaitKind kind = kind_of_select(count, b, c, d, end);                           \
    return wait_for(next::name, FBLEPROF_CALLER, kind, nullptr, count, b, c, d, end, f); \
  }
FBLEPROF_SELECT(select)
FBLEPROF_SELECT(pselect)

// Declared with `...`; passes on the words that a call may have.
#define FBLEPROF_FCNTL(name)                                                                  \
  FBLEPROF_WRAPPER(Word, name, Word fd, Word command, Word argument) {                        \
    if (static_cast<int>(command) == F_SETLKW || static_cast<int>(command) == F_OFD_SETLKW) { \
      return wait_in(next::name, FBLEPROF_CALLER, fd, command, argument);                     \
    }                                                                                         \
    return pass_on(next::name, fd, command, argument);                                        \
  }
FBLEPROF_FCNTL(fcntl)
FBLEPROF_FCNTL(fcntl64)

#define FBLEPROF_OF_SEVEN(name)                                                                  \
  FBLEPROF_WRAPPER(Word, name, Word a, Word b, Word c, Word d, Word e, Word f, Word g) {         \
    return wait_in_seven(next::name, FBLEPROF_CALLER, WaitKind::kForOther, a, b, c, d, e, f, g); \
  }
FBLEPROF_OF_SEVEN(getnameinfo)
FBLEPROF_OF_SEVEN(gethostbyname2_r)

// A call that makes a process or thread returns twice, so it is passed on by a jump.
FBLEPROF_WRAPPER(Word, syscall, Word number, Word a, Word b, Word c, Word d, Word e, Word f) {
  if (const std::optional<WaitKind> kind = kind_of_wait(number, a, b, c, d, e)) {
    const void* object = number == SYS_futex ? awaited_futex(FBLEPROF_CALLER, a, b) : nullptr;
    return wait_in_seven(next::syscall, FBLEPROF_CALLER, *kind, number, a, b, c, d, e, f, object);
  }
  forget_by_call(number, a, b, c);
  auto* function = next::syscall.as<OfSevenWords>();
  return function != nullptr ? function(number, a, b, c, d, e, f) : missing();
}

// The jump may lead out of a handler, over the wait that it interrupted.
#define FBLEPROF_JUMP(name)                                             \
  FBLEPROF_WRAPPER(Word, name, const void* buffer, Word value) {        \
    if (fbleprof_jumps != nullptr) {                                    \
      fbleprof_jumps(fbleprof::arch::stack_pointer_after_jump(buffer)); \
    }                                                                   \
    auto* function = next::name.as<Word(const void*, Word)>();          \
    return function != nullptr ? function(buffer, value) : missing();   \
  }
FBLEPROF_JUMP(longjmp)
FBLEPROF_JUMP(_longjmp)
FBLEPROF_JUMP(siglongjmp)
FBLEPROF_JUMP(__longjmp_chk)
