// Callers that a walk of the machine stack has proven, for calls by code without hooks (qsort calls
// a comparison).
//
// The edge cache cannot answer such a call: the code without hooks may have been called by a
// function whose entry is on top, or after that function returned. The walk tells, but takes some
// 300 ns. Where the machine stack holds the same words that decided its way (return addresses, and
// the registers that frames depend on), and the caller's entry is the same, another walk would lead
// to the same caller. A return address may differ if it is in the same function, whose frame has
// the same layout there (a recursion, a call in each branch). Stale entries above the caller's may
// differ, if none is in a place where a frame's entry would be.
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
  Entry* caller;
  Entry entry;  // what was there
  std::uint32_t epoch;
  // The newest call on the way: where it returns to, its count, and the callee's entry.
  std::uint64_t site;  // 0: none yet
  std::uint64_t* calls;
  Word word;
  WalkReads reads;
};

// Entries above the caller's, at most.
inline constexpr int kMostStale = 2;

inline constexpr std::uint32_t kProvenWays = 64;

// The way that a walk from the same state has proven; else null. `top` is no gate.
ProvenWay* proven_before(ThreadState& thread, Entry* top, const HookState& at);

// Keeps an answer, for which the walk has filled thread.walked.
void keep_proof(ThreadState& thread, Entry* top, Entry* caller, const HookState& at);

}  // namespace fbleprof::signal_safe
