// Waits by their length, in classes: below 100 us, below 1 ms, and so on by tens; the last one is
// all from 10 s on. The metrics of a profile that count them (Role::kWaitClass) come in this order.
#pragma once

#include <cstdint>

namespace fbleprof::format {

inline constexpr std::uint32_t kWaitClasses = 7;

inline std::uint32_t wait_class(std::uint64_t ns) {
  std::uint64_t limit = 100'000;
  std::uint32_t which = 0;
  while (which + 1 < kWaitClasses && ns >= limit) {
    limit *= 10;
    ++which;
  }
  return which;
}

}  // namespace fbleprof::format
