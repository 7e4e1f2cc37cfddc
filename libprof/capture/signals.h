// The sampling signal between us and the program.
//
// The kernel has our handler; the program has a picture of its own: the action it set for the
// signal, and whether it blocked it. A signal that is not from our timers is the program's, and is
// given to its action. So a program that uses SIGPROF itself goes on working, and one that blocks
// all signals is sampled all the same.
#pragma once

#include <signal.h>

#include <cstdint>

namespace fbleprof::capture {

inline constexpr int kSamplingSignal = SIGPROF;

// Puts our handler in; what was there before becomes the program's action.
void install_handler();
// True while the program has set an action or uses the signal: nothing is to be assumed then.
bool handler_is_installed();

// The program's sigaction for the sampling signal: 0, or -1 with errno.
int set_program_action(const struct sigaction* action, struct sigaction* old);

// The program's view of a set it blocks or asks for. `set` (may be null) as the program gave it;
// the result is what to give the kernel, `own` its place.
const sigset_t* without_sampling_signal(const sigset_t* set, sigset_t* own);

// pthread_sigmask as the program sees it.
int program_sigmask(int how, const sigset_t* set, sigset_t* old,
                    int (*real)(int, const sigset_t*, sigset_t*));

// The mask and the action go to the next program as this one left them. Before exec; undo if it
// failed.
void hand_over_to_next_program();
void take_back_from_next_program();

// The sampling signal is blocked in the calling thread as long as this lives. Async-signal-safe.
class SamplingBlocked {
 public:
  SamplingBlocked();
  ~SamplingBlocked();
  SamplingBlocked(const SamplingBlocked&) = delete;
  SamplingBlocked& operator=(const SamplingBlocked&) = delete;

 private:
  std::uint64_t old_mask_;
};

// All signals are, but those that nobody can block.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked();
  ~AllSignalsBlocked();
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  std::uint64_t old_mask_;
};

// At a thread's start, before anything here blocks: lets the sampling signal through. What the mask
// said, or `program_blocked` (the mask that the program gave its creator), is the program's view.
void open_mask_of_thread(bool program_blocked);
// Whether the program, as it sees it, blocks the signal in this thread.
bool program_blocks_signal();

// A signal of the program's own that came while it was blocked: true if there is one. `info` may be
// null. Taking it removes it.
bool program_has_pending_signal();
bool take_pending_signal(siginfo_t* info);

// Takes pending signals of ours away. The signal must be blocked.
void drain_pending();

}  // namespace fbleprof::capture
