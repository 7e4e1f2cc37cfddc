// The settings that hooks and the handler need.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

// How allocations are recorded.
enum class AllocationMode : std::uint8_t {
  kOff,
  kByHooks,  // each one in hooked code; elsewhere one in so many bytes
  kSampled,  // one in so many bytes
  kExact,    // each one
};

struct Options {
  format::Clock clock = format::Clock::kCpu;
  format::Compaction compaction = format::Compaction::kPair;
  bool call_sites = false;        // keys are joined by the return address
  bool leaves = false;            // sampled addresses are children
  bool faults = false;            // page faults are charged
  bool native_below = true;       // code without hooks below a counted context is sampled
  bool runtime_frames = false;    // the tree shows an interpreter's own functions between scripts'
  std::uint64_t tick_period = 1;  // ticks are charged in steps of this many
  std::uint64_t throttle = 0;     // calls a second that a function may have; 0 = any number
  std::uint32_t depth_limit = 0;  // deeper contexts fold into [deeper]; 0 = no limit
  AllocationMode allocations = AllocationMode::kOff;
  bool mappings = false;                          // mmap and munmap count as allocations
  std::uint64_t bytes_per_sample = 512ull << 10;  // of sampled allocations, on average
  bool waits = false;                             // calls that block are charged with their time
  bool preempted = false;  // time without a processor is charged; only with `waits`
  std::uint8_t event = 0;  // sampled besides the clock: its place in format::kEvents, + 1; 0: none
  std::uint64_t event_period = 0;  // events to a sample
  std::uint32_t wait_words = 8;    // where the words for waits begin in a row
  std::uint32_t row_bytes = 64;    // of a node's row of values
};

}  // namespace fbleprof::signal_safe
