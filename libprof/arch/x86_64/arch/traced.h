// The registers of a stopped thread of another process, and the calls that a tracer makes in it.
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fbleprof::arch {

using TracedRegisters = user_regs_struct;

inline constexpr std::uint8_t kSystemCallInstruction[] = {0x0f, 0x05};
inline constexpr std::uint8_t kSystemCallAndReturn[] = {0x0f, 0x05, 0xc3};

inline long system_call_of(const TracedRegisters& at) { return static_cast<long>(at.orig_rax); }
inline bool is_in_system_call(const TracedRegisters& at) { return system_call_of(at) >= 0; }
inline std::uint64_t pc_of(const TracedRegisters& at) { return at.rip; }
// In a system call, the kernel may let the thread continue at its instruction, to restart it.
inline std::uint64_t pc_of_restart(const TracedRegisters& at) {
  return at.rip - (is_in_system_call(at) ? sizeof kSystemCallInstruction : 0);
}
inline std::uint64_t sp_of(const TracedRegisters& at) { return at.rsp; }

inline std::uint64_t fp_of(const TracedRegisters& at) { return at.rbp; }
inline std::uint64_t thread_pointer_of(const TracedRegisters& at) { return at.fs_base; }

// Below the stack pointer, functions keep values that signal handlers do not overwrite.
inline constexpr std::uint64_t kRedZoneBytes = 128;

// The register set that holds all vector state, and the most bytes that it takes.
inline constexpr int kVectorStateSet = 0x202;  // NT_X86_XSTATE
inline constexpr std::size_t kMostVectorState = 16384;

// The result of a finished system call.
inline long result_of(const TracedRegisters& at) { return static_cast<long>(at.rax); }
// The result of a function, read at the entry of the system call that the function returns to.
inline std::uint64_t returned_value(const TracedRegisters& at) { return at.orig_rax; }
// The registers for a system call by the instruction at `instruction`.
inline TracedRegisters for_system_call(TracedRegisters at, std::uint64_t instruction, long number,
                                       const std::uint64_t (&arguments)[6]) {
  at.rip = instruction;
  at.rax = static_cast<std::uint64_t>(number);
  at.orig_rax = ~0ull;
  at.rdi = arguments[0];
  at.rsi = arguments[1];
  at.rdx = arguments[2];
  at.r10 = arguments[3];
  at.r8 = arguments[4];
  at.r9 = arguments[5];
  return at;
}

// Makes the system call that is about to begin one that does nothing. A filter of the program's
// (seccomp) looks at it afterwards, so it must be one that has passed before: mmap, as for the
// stack of our calls, of no bytes.
inline void make_call_do_nothing(TracedRegisters& at) {
  at.orig_rax = SYS_mmap;
  at.rdi = at.rsi = at.r9 = 0;
  at.rdx = PROT_READ | PROT_WRITE;
  at.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  at.r8 = ~0ull;
}

// The registers for a call of function(a, b) on the stack that ends at `stack`, a multiple of 16.
// The caller must write the return address to sp_of(result).
inline TracedRegisters for_call(TracedRegisters at, std::uint64_t function, std::uint64_t a,
                                std::uint64_t b, std::uint64_t stack) {
  constexpr std::uint64_t kDirection = 0x400;  // clear at each call
  at.rip = function;
  at.rsp = stack - 8;
  at.rdi = a;
  at.rsi = b;
  at.rax = 0;
  at.orig_rax = ~0ull;
  at.eflags &= ~kDirection;
  return at;
}

// The same with a stack pointer: a return address is there.
inline TracedRegisters returning_to(TracedRegisters at, std::uint64_t stack) {
  at.rsp = stack;
  return at;
}

// The kernel restarts most system calls that a stop interrupted, but ends these with EINTR. This
// makes them begin again; their timeout begins again too. False: this is no such call.
inline bool begin_again_if_interrupted(TracedRegisters& at) {
  if (!is_in_system_call(at) || static_cast<long>(at.rax) != -EINTR) return false;
  at.rax = at.orig_rax;
  at.rip -= sizeof kSystemCallInstruction;
  at.orig_rax = ~0ull;
  return true;
}

// Whether the kernel will restart the system call, of which this is the end, or end it with EINTR.
inline bool is_to_restart(const TracedRegisters& at) {
  constexpr long kRestart = 512, kRestartUnconditionally = 513, kRestartUnlessHandled = 514,
                 kRestartWithRest = 516;  // the kernel's own; no program sees them
  const long failure = -result_of(at);
  return is_in_system_call(at) && (failure == kRestart || failure == kRestartUnconditionally ||
                                   failure == kRestartUnlessHandled || failure == kRestartWithRest);
}

// The kernel restarts an interrupted system call itself when a tracer lets the thread go, but not
// from a frame, and not if a signal is delivered. This does it; a call that has waited for a part
// of its time waits for all of it again.
inline TracedRegisters as_restarted(TracedRegisters at) {
  if (is_to_restart(at)) {
    at.rax = at.orig_rax;
    at.rip -= sizeof kSystemCallInstruction;
  }
  at.orig_rax = ~0ull;
  return at;
}

// A call that the kernel restarted before has lost its number, but libc's instruction before the
// call has it: mov $NUMBER, %eax. `before`: the bytes before the call's instruction. False: it is
// no such call.
inline constexpr int kNumberBytes = 5;
inline bool find_number(TracedRegisters& at, const std::uint8_t (&before)[kNumberBytes]) {
  if (system_call_of(at) != SYS_restart_syscall || before[0] != 0xb8) return false;
  std::uint32_t number = 0;
  std::memcpy(&number, before + 1, sizeof number);
  at.orig_rax = number;
  return true;
}

inline bool has_just_entered(const TracedRegisters& at) { return result_of(at) == -ENOSYS; }

// Whether a thread waits for a lock of libc's kind: a mutex, or one of libc's own.
inline bool waits_for_lock(const TracedRegisters& at) {
  constexpr std::uint64_t kCommands = 0x7f, kContended = 2;
  return system_call_of(at) == SYS_futex && (at.rsi & kCommands) == FUTEX_WAIT &&
         at.rdx == kContended;
}

// Whether a thread that waits in this system call holds no lock of the allocator or the loader.
inline bool is_quiet(long system_call) {
  switch (system_call) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_futex:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_pause:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
    case SYS_flock:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_sched_yield:
    case SYS_sendfile:
    case SYS_fcntl:
    case SYS_restart_syscall:
    case SYS_getpid:
    case SYS_clock_gettime:
    case SYS_lseek:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_close:
    case SYS_open:
    case SYS_openat:
    case SYS_ioctl:
    case SYS_gettid:
    case SYS_access:
    case SYS_faccessat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_statx:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_pwrite64:
    case SYS_getdents64:
    case SYS_unlink:
    case SYS_kill:
    case SYS_tgkill:
      return true;
    default:
      return false;
  }
}

}  // namespace fbleprof::arch
