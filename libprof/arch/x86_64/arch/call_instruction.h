// Decoding the call that returns to an address.
#pragma once

#include <cstdint>

namespace fbleprof::arch {

inline constexpr std::uint64_t kDirectCallBytes = 5;

// The target of the direct call whose return address is `site`; 0 if no such call stands there.
// Reads the kDirectCallBytes before `site`.
inline std::uint64_t direct_call_target(std::uint64_t site) {
  const auto* call = reinterpret_cast<const std::uint8_t*>(site - kDirectCallBytes);
  if (call[0] != 0xe8) return 0;
  std::int32_t distance;
  __builtin_memcpy(&distance, call + 1, sizeof distance);
  return site + static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace fbleprof::arch
