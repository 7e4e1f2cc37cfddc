// Our walk of the machine stack beside libunwind's, from one machine state, frame for frame.
//
// libunwind reads the same unwind tables with its own code: where both agree on pc and sp of every
// frame, both are right. Permitted differences are counted by kind:
//  - code without an unwind table: libunwind guesses by frame pointers, ours stops;
//  - the unwinder leaves for a landing pad: libunwind takes the landing pad's registers, which the
//    unwinder writes over those that it saved, for its caller's;
//  - both stop at the same frame;
//  - ours stops where a register holds the return address (a few instructions of longjmp);
//  - the frame pointer of a caller that does not use it: gcc does not say that an epilogue of a
//    realigned frame has popped it, and libunwind reads whatever it points to. Where a caller does
//    use it, its sp would differ.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <string>

#include "signal_safe/thread_state.h"

namespace fbleprof::test {

class WalkPair {
 public:
  // For the calling thread, whose stack's bounds it finds.
  WalkPair();
  // Makes an alternate signal stack known, as sigaltstack's wrapper does.
  void set_signal_stack(const void* low, std::size_t bytes);
  // No bounds are known from here on: every stack is probed.
  void forget_bounds();

  // Compares both walks from the interrupted state. May be called from a handler on the thread.
  void compare(const ucontext_t& at);
  // Only ours, from a possibly invalid state: the walk must end. Returns its frames.
  int walk_any(const signal_safe::MachineState& state);
  // From the caller's present instruction.
  void compare_here();

  std::uint64_t samples = 0;
  std::uint64_t frames = 0;    // that were compared
  std::uint64_t complete = 0;  // samples that both walked to the outermost frame
  std::uint64_t without_table = 0;
  std::uint64_t both_stopped = 0;
  std::uint64_t stopped_short = 0;  // ours agrees, and stops in spite of a table
  std::uint64_t fp_differs = 0;     // frames
  std::uint64_t mismatches = 0;     // the walks contradict each other
  std::uint64_t leaving = 0;        // they part where the unwinder leaves for a landing pad
  std::uint64_t leaving_short = 0;  // of these, ours did not reach the outermost frame
  std::uint64_t ours_complete = 0;  // samples that ours walked to the outermost frame
  std::uint64_t outside_code = 0;   // frames of ours that are in no loaded code
  std::uint64_t deepest = 0;

  // The first samples that differ, each with the two walks; empty if there were none.
  std::string mismatch_text() const;

 private:
  static constexpr int kMost = 1100;
  struct Path {
    signal_safe::MachineState frames[kMost];
    int count = 0;
    bool is_complete = false;
  };
  struct Mismatch {
    Path ours, theirs;
    int at = 0;
  };
  static constexpr std::uint64_t kKept = 8;

  void walk_ours(const ucontext_t& at, Path* path);
  void walk_theirs(const ucontext_t& at, Path* path);

  signal_safe::ThreadState* thread_;
  Path ours_, theirs_;
  Mismatch kept_[kKept];
  std::uint64_t kept_count_ = 0;
};

}  // namespace fbleprof::test
