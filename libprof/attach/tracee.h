// One stopped thread of another process: its registers and memory, and calls made in it.
//
// The other threads continue. During a call, signals wait; afterwards the thread continues where it
// was, and the kernel restarts a system call that the stop interrupted. If this process is killed
// meanwhile, the thread ends its call and goes back by itself (keep_way_back).
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/signal_frame.h"
#include "arch/traced.h"
#include "base/result.h"

namespace fbleprof::attach {

class Tracee {
 public:
  // Stops the thread. Fails with one line that says what forbids it, or after kPatienceMs.
  static constexpr int kPatienceMs = 2000;
  static Result<Tracee> stop(pid_t pid, pid_t tid);
  // The same in two steps, to stop many at once. The second one fails if the thread has not stopped
  // after `milliseconds` (in a vfork, it does not); it then stays traced until this process ends.
  static Result<Tracee> ask_to_stop(pid_t pid, pid_t tid);
  Status wait_until_stopped(int milliseconds);
  Tracee(Tracee&& from) noexcept;
  // Lets the thread continue as if nothing had happened.
  ~Tracee();
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;

  pid_t tid() const { return tid_; }
  const arch::TracedRegisters& registers() const { return saved_; }
  // If they fail, errno says why.
  bool read(std::uint64_t from, void* to, std::size_t bytes) const;
  bool write(std::uint64_t to, const void* from, std::size_t bytes) const;

  // Lets the thread run to the end of a quiet system call, for at most `milliseconds`. It has made
  // that call: if we skipped it, a filter of the program's (seccomp) would see no call that it
  // knows.
  bool run_to_quiet_call(int milliseconds);

  // Keeps the thread stopped where it computes. False: it is not in user mode, or was not stopped
  // by us, or is in a restartable sequence, which must begin again when it goes on.
  bool hold_here();

  // The kernel restarts some waits by a call of its own, restart_syscall, which a filter of the
  // program's (seccomp) may forbid. This makes such a wait begin again instead, with all of its
  // time. False: it is in none.
  bool wait_anew();
  // Takes that back: it waits for the rest.
  void wait_on();

  // Before the first call: writes a frame below the used part of the thread's own stack, which
  // begins at `stack_begin`, so that the thread can go back without us. Does nothing if there is no
  // room, or no way.
  void keep_way_back(const arch::WayBack& way, std::uint64_t stack_begin);

  // `instruction` is the address of a system call instruction in the process, and of a return
  // behind it. Below 0: -errno.
  long system_call(std::uint64_t instruction, long number, std::uint64_t a = 0, std::uint64_t b = 0,
                   std::uint64_t c = 0, std::uint64_t d = 0, std::uint64_t e = 0,
                   std::uint64_t f = 0);
  // Calls function(a, b) on a stack that ends at `stack`. Fails if a fault ended the function, or
  // `may_leave` says so of the thread's registers when the call has taken kLongCallMs: the function
  // is left where it is then.
  static constexpr int kLongCallMs = 2000;
  using MayLeave = std::function<bool(const arch::TracedRegisters&)>;
  Result<std::uint64_t> call(std::uint64_t instruction, std::uint64_t function, std::uint64_t a,
                             std::uint64_t b, std::uint64_t stack, const MayLeave& may_leave = {});
  // Why a call could not be made: what the kernel refused, or else this.
  Error failure(const std::string& otherwise) const;

 private:
  using Clock = std::chrono::steady_clock;

  Tracee(pid_t pid, pid_t tid) : pid_(pid), tid_(tid) {}
  std::uint64_t due_signals() const;
  // Where the thread stopped, before the system call that the stop interrupted.
  arch::TracedRegisters as_restarted() const;
  // Asks the kernel for what nothing can be done without, and notes what it refuses.
  bool ask(__ptrace_request request, const char* name, std::uintptr_t address, void* data);
  bool get(arch::TracedRegisters* registers);
  bool set(const arch::TracedRegisters& registers);
  // Lets the thread run to the next entry or end of a system call. False: it has ended, or met a
  // fault, or was stopped at `end`.
  bool run_to_system_call(const std::optional<Clock::time_point>& end = std::nullopt);
  // The same for a call: it may stop at kLongCallMs, and go on.
  bool run_on_in_call(std::optional<Clock::time_point>& end, const MayLeave& may_leave);
  std::optional<int> signal_after(int status);
  bool is_in_rseq_section() const;
  // A call that failed may have left the thread at the begin of a system call, which would count as
  // the next one's. It becomes one that does nothing.
  bool end_open_call();
  // What calls change besides general registers.
  void note_state();
  // Before the first call: lets signals wait.
  void keep_state();
  bool hold_signals();
  void restore_state();
  void let_go();

  pid_t pid_, tid_;
  arch::TracedRegisters saved_{};
  std::string refused_;                // what the kernel refused first; empty: nothing
  std::vector<std::uint8_t> vectors_;  // empty: not noted
  std::uint64_t mask_ = 0, mask_in_calls_ = 0;
  arch::WayBack way_;
  std::uint64_t frame_ = 0;  // 0: the thread needs us to go back
  int held_signal_ = 0;      // one that is still to be delivered
  bool has_mask_ = false;
  bool holds_signals_ = false;
  bool is_moved_ = false;       // away from `saved_`, where it must go back
  bool is_at_entry_ = false;    // of a system call, in a call of ours
  bool stopped_by_us_ = false;  // and not at a system call or by a signal
  bool is_gone_ = false;
};

}  // namespace fbleprof::attach
