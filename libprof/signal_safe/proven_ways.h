// Callers that a walk of the machine stack has proven, for calls by code without hooks (qsort calls
// a comparison).
//
// The edge cache cannot answer such a call: the code without hooks may have been called by a
// function whose entry is on top, or after that function returned. The walk tells, but takes some
// 300 ns. Where the machine stack holds the same words that decided its way (return addresses, and
// the registers that frames depend on), and the entries are the same, it would lead to the same
// caller.
//
// Where only the newest frames differ (a recursion without hooks), a walk goes on until it meets
// the way of an earlier one.
//
// A thread's own; used under its BusyGuard.
#pragma once

#include <cstdint>

#include "signal_safe/enter.h"
#include "signal_safe/shadow_stack.h"
#include "signal_safe/stack_walk.h"

namespace fbleprof::signal_safe {

struct ProvenWay {
  HookState at;  // where the walk began; pc 0: none
  std::uint32_t epoch;
  std::uint32_t stale;  // entries above the caller's
  static constexpr std::uint32_t kMostStale = 1;
  Entry* top;
  Entry entries[kMostStale + 1];  // from `top` down to the caller's
  WalkReads reads;

  // Adds the words behind the one at `slot` to those of another walk.
  void add_rest(std::uint64_t slot, WalkReads* to) const;
};

inline constexpr std::uint32_t kProvenWays = 32;

// The place for the answer to a call whose walk begins at `at`.
ProvenWay& proven_way(ThreadState& thread, const Entry* top, const HookState& at);

// Whether an earlier walk went on from the frame that this one has come to, to the caller of
// `entry`, and would do so again.
bool meets(const ThreadState& thread, const ProvenWay& earlier, const StackWalk& walk,
           const Entry* entry);

// The entry of the caller if a walk from the same state has proven it; else null.
Entry* proven_caller(ThreadState& thread, Entry* top, const HookState& at);

// Keeps an answer, for which the walk has filled thread.walked.
void keep_proof(ThreadState& thread, Entry* top, const Entry* caller, const HookState& at);

}  // namespace fbleprof::signal_safe
