// The settings that hooks and handler need to know.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

struct Options {
  format::Clock clock = format::Clock::kCpu;
  format::Compaction compaction = format::Compaction::kPair;
  bool call_sites = false;        // keys are joined by the return address
  bool leaves = false;            // sampled addresses are children
  bool faults = false;            // page faults are charged
  bool native_below = true;       // code without hooks below a counted context is sampled
  std::uint64_t tick_period = 1;  // ticks are charged when this many have passed
  std::uint32_t depth_limit = 0;  // deeper contexts fold into [deeper]; 0 = no limit
};

}  // namespace fbleprof::signal_safe
