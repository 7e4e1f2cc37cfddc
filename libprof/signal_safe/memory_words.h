// The words that the recording of allocations adds to a node's row of values.
//
// A thread charges its own contexts for what it allocates. Any thread may free the blocks: the
// owner of the context uses plain additions to words of its own, other threads use atomic additions
// to separate words. So both are exact, and the frequent case is cheap.
#pragma once

#include <cstdint>

#include "format/decades.h"
#include "signal_safe/call_tree.h"

namespace fbleprof::signal_safe {

// Classes of sizes: up to 16 bytes, up to 64, and so on by factors of four; the last is above 4
// MiB.
inline constexpr std::uint32_t kSizeClasses = 11;
inline std::uint32_t size_class(std::uint64_t bytes) {
  const int width = bytes > 16 ? 64 - __builtin_clzll(bytes - 1) : 4;
  const auto which = static_cast<std::uint32_t>(width - 3) / 2;
  return which < kSizeClasses ? which : kSizeClasses - 1;
}

// Classes of lifetimes: below 10 ms, below 100 ms, and so on by factors of ten; the last class is
// 100 s or more. Known to within a sampling period.
inline constexpr std::uint32_t kLifetimeClasses = 6;
inline std::uint32_t lifetime_class(std::uint64_t ns) {
  return format::decade_of(ns, 10'000'000, kLifetimeClasses);
}

enum MemoryWord : std::uint32_t {
  kAllocations = kRowBytes / 8,
  kAllocatedBytes,
  kFreesHere,  // by the thread that allocated
  kFreedHereBytes,
  kFreesElsewhere,  // by other threads
  kFreedElsewhereBytes,
  kTemporary,          // freed by the next call of the allocator on the thread
  kLifetimeNs,         // sum over all freed blocks
  kAllocationSamples,  // not 0: the amounts are estimated from this many samples
  kUnrecorded,         // not charged to their context: the tree was busy, or the table full
  kLeakedBlocks,       // still allocated at the end
  kLeakedBytes,
  kLostBlocks,  // leaked, and reachable from nowhere
  kLostBytes,
  kSizes,
  kLifetimes = kSizes + kSizeClasses,
  kMemoryWords = kLifetimes + kLifetimeClasses
};
inline constexpr std::uint32_t kMemoryRowBytes =
    (kMemoryWords * 8 + format::kUnitBytes - 1) / format::kUnitBytes * format::kUnitBytes;

}  // namespace fbleprof::signal_safe
