// Shares the sampling signal between us and the program.
//
// The kernel has our handler. The program sees its own view: the action that it set, and whether it
// blocked the signal. A signal that does not come from our timers belongs to the program and goes
// to its action. So a program that uses SIGPROF itself still works, and a program that blocks all
// signals is still sampled.
#pragma once

#include <signal.h>

#include <cstdint>

#include "capture/kernel_action.h"

namespace fbleprof::capture {

inline constexpr int kSamplingSignal = SIGPROF;
// The exit status of a process that a signal ends, less the signal's number: as shells show it.
inline constexpr long kStatusOfSignal = 128;

// Installs our handler, if it is not there; the previous action becomes the program's.
// Async-signal-safe, except for the first time.
void install_handler();
// In a child: installs it again if the child was made without handlers (CLONE_CLEAR_SIGHAND).
void restore_cleared_handler();
// Gives the kernel the program's action; samples that are pending are dropped. No more may come.
// Not if the program has replaced our handler behind our back.
void remove_handler();
// Makes `function` run before the program's own sampling signal kills the process.
// Async-signal-safe.
void on_death_by_sampling_signal(void (*function)());
// Makes `function` run before each sample, with the interrupted stack pointer: the thread may be
// one that is not attached yet. Async-signal-safe.
void on_samples_of_found_threads(void (*function)(std::uint64_t sp));
// Called at a sample of a thread whose event must change (change_event).
void on_samples_that_change_sampling(void (*function)());
// In a handler of ours, in an attached thread: calls work(argument), in memory of the thread's own
// if the handler's stack may be too small (that of a coroutine, or of a thread with a small stack,
// or a small signal stack). The memory is free: only faults can interrupt such work. False: it was
// not called, because the signal stack cannot be left. `context`: the handler's. Async-signal-safe.
bool call_where_room_is(const void* context, void (*work)(void*), void* argument);
// In a forked child: what the program sets is the child's from now on. Async-signal-safe.
void own_signals_in_child();
// Before the program confines itself: getpid may be forbidden from then on, so a child of vfork is
// taken for its parent.
void stop_asking_who_owns_signals();
// False from then on: no more samples come, and the program may have forbidden the calls that guard
// against them.
bool may_samples_come();
// Before that: a handler of the program's for the sampling signal, or its being ignored, becomes
// the kernel's action, and the calling thread's mask is the program's. Not while other threads
// block the signal in the program's view: their masks stay open, and our handler stays.
void leave_signal_to_confined_program();
// True while the program has set an action or uses the signal: then assume nothing about it.
bool handler_is_installed();

KernelAction to_kernel(const struct sigaction& action);
struct sigaction from_kernel(const KernelAction& action);
// Set in the flags of an action that says where its handler returns to.
inline constexpr unsigned kHasRestorer = 0x04000000;
// The action that libc gives the kernel for the program's: it adds the code that returns from the
// handler.
struct sigaction as_libc_sets(const struct sigaction& action);

// The kernel looks at the handler only, also with SA_SIGINFO.
inline bool is_default(const struct sigaction& action) { return action.sa_handler == SIG_DFL; }
inline bool is_ignored(const struct sigaction& action) { return action.sa_handler == SIG_IGN; }
inline bool is_handled(const struct sigaction& action) {
  return !is_default(action) && !is_ignored(action);
}
// The action after the handler of one with SA_RESETHAND was called.
inline struct sigaction after_reset(struct sigaction action) {
  action.sa_handler = SIG_DFL;
  return action;
}

// Calls the handler; nothing if the action has none.
inline void call_handler(const struct sigaction& action, int number, siginfo_t* info,
                         void* context) {
  if (!is_handled(action)) return;
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(number, info, context);
  } else {
    action.sa_handler(number);
  }
}

// The mask of our handlers: only faults may interrupt them, because a signal stack may have no room
// for another frame.
sigset_t all_but_faults();

// A sigaction: 0, or -1 with errno.
using SetAction = int (*)(int number, const struct sigaction* action, struct sigaction* before);

// sigaction by a system call: libc's may lead to us (attached_calls.h). 0, or -1 with errno.
// Async-signal-safe.
int set_kernel_action(int number, const struct sigaction* action, struct sigaction* before);
// The same by libc, where it does not lead to us: samples find the time of a call of the program's
// in libc, and not in our code.
int set_action_by_libc(int number, const struct sigaction* action, struct sigaction* before);

// The program's sigaction for the sampling signal: 0, or -1 with errno.
int set_program_action(const struct sigaction* action, struct sigaction* old);

// The set to pass to the kernel instead of a set that the program blocks or waits for. `set` (may
// be null) is the program's; `own` is memory for the result.
const sigset_t* without_sampling_signal(const sigset_t* set, sigset_t* own);

// pthread_sigmask as the program sees it.
int program_sigmask(int how, const sigset_t* set, sigset_t* old,
                    int (*real)(int, const sigset_t*, sigset_t*));

// sigtimedwait for a set with the sampling signal, as the program sees it.
int wait_for_program_signal(const sigset_t* set, siginfo_t* info, const timespec* timeout,
                            int (*real)(const sigset_t*, siginfo_t*, const timespec*));

// Before exec: makes the next program start with the mask and action that this program left. The
// second function undoes that if exec failed.
void hand_over_to_next_program();
void take_back_from_next_program();
// The same in a program to which we were attached: its masks are not watched, so the thread's is
// the one that the kernel has now. Removes our pending signals; no more may come.
void hand_over_from_found_thread();
void take_back_in_found_thread();

// Lives around posix_spawn and the like: the program that they start finds the signal blocked if
// this thread of the program blocks it. (Whether the program ignores it cannot be handed on: while
// the kernel ignored the signal, other threads would lose samples and, before Linux 6.13, timers.)
class MaskOfProgram {
 public:
  MaskOfProgram();
  ~MaskOfProgram();
  MaskOfProgram(const MaskOfProgram&) = delete;
  MaskOfProgram& operator=(const MaskOfProgram&) = delete;

 private:
  bool blocks_ = false;
};

// Blocks the sampling signal in the calling thread while it lives. Async-signal-safe.
class SamplingBlocked {
 public:
  SamplingBlocked();
  ~SamplingBlocked();
  SamplingBlocked(const SamplingBlocked&) = delete;
  SamplingBlocked& operator=(const SamplingBlocked&) = delete;

 private:
  std::uint64_t old_mask_;
};

// The faults of code that reads memory that may not exist (peek.h).
inline constexpr std::uint64_t kFaultsOfPeeks = std::uint64_t{1} << (SIGSEGV - 1);

// Blocks all signals, except those that cannot be blocked, and SIGBUS, which stays as the program
// has it: the profile's file may be truncated at any moment, and a fault whose signal is blocked
// ends the program. A SIGBUS that somebody sends waits all the same (fatal_signals). In a confined
// program, which may have forbidden that, it does nothing.
class AllSignalsBlocked {
 public:
  // `open`: more signals, as bits of a mask, that stay as the program has them.
  explicit AllSignalsBlocked(std::uint64_t open = 0);
  ~AllSignalsBlocked();
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  const bool is_confined_;
  const std::uint64_t old_mask_;
};

// Whether this thread is in code that one of them guards.
bool are_all_signals_blocked();

// At a thread's start, before anything here blocks: unblocks the sampling signal. The program's
// view is what the mask said.
void open_mask_of_thread();

// Whether one of the program's own signals came while it was blocked. Taking the signal removes it;
// `info` may be null.
bool program_has_pending_signal();
bool take_pending_signal(siginfo_t* info);

// Removes our pending signals. The signal must be blocked.
void drain_pending();

}  // namespace fbleprof::capture
