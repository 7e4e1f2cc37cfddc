// Finds the functions that a thread calls too often (--throttle).
//
// Hooks only count on edges, and must not do more. But a thread's edge cache holds its frequent
// calls, and each slot names the counter of its edge. So samples look through the cache, a part at
// a time. What a counter has grown by since it was last seen is added to the rate of the function
// that is called; when all parts were visited, the rates are complete. Slots can share a counter
// (calls from two places), so a counter is seen once in a round.
//
// A rate is a lower bound: calls that are not in the cache are not seen, nor are those of a counter
// that another one has displaced here.
#pragma once

#include <cstdint>

#include "signal_safe/shadow_stack.h"

namespace fbleprof::signal_safe {

// Takes back the hooks of these functions, each named by the address that its hook returns to.
using Unhook = void (*)(const std::uint64_t* hook_returns, std::uint32_t count);

// In zeroed memory. Only the thread itself uses it, at its samples.
class CallRates {
 public:
  // Visits the parts of the cache that are due when the thread's CPU clock reads `cpu_ns`. At the
  // end of a round, calls `unhook` for the functions that are called more than `most` times in a
  // second of the thread's CPU time. At most kPartsAtOnce parts of 4 kB, and at most one call.
  void look(const Slot* cache, std::uint64_t cpu_ns, std::uint64_t most, Unhook unhook);

  // Another thread takes over this memory.
  void forget() { round_ns_ = 0; }

 private:
  static constexpr std::uint32_t kParts = 128, kPartsAtOnce = 8;
  static constexpr std::uint32_t kSlots = kFirstCacheSlots / kParts;  // of a part
  static constexpr std::uint64_t kRoundNs = 250'000'000;
  static constexpr std::uint32_t kFunctions = 1024, kProbes = 8;
  static constexpr std::uint32_t kMostAtOnce = 64;  // functions; others wait for the next round

  struct Counter {
    const std::uint64_t* calls;
    std::uint64_t seen, seen_ns;
  };
  struct Rate {
    std::uint64_t hook_return;
    std::uint64_t per_second;
    std::uint64_t round;  // in which it was set
  };

  void begin_round(std::uint64_t cpu_ns);
  void visit(const Slot* part, std::uint64_t cpu_ns);
  void add(std::uint64_t hook_return, std::uint64_t per_second);
  void finish(std::uint64_t most, Unhook unhook);

  std::uint64_t round_ = 0, round_ns_ = 0;  // the round, and when it began
  std::uint32_t next_part_ = 0;
  Counter counters_[kFirstCacheSlots] = {};
  Rate rates_[kFunctions] = {};
};

}  // namespace fbleprof::signal_safe
