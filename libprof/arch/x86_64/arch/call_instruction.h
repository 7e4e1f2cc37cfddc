// Decoding calls and jumps that name their target.
#pragma once

#include <cstdint>

namespace fbleprof::arch {

inline constexpr std::uint64_t kDirectCallBytes = 5;
// What a call leaves on top of the stack.
inline constexpr std::int32_t kReturnAddressBytes = 8;

// Where an instruction leads that names its target by a distance of 32 bits at `distance`, its last
// four bytes.
inline std::uint64_t target_of_distance(const std::uint8_t* distance) {
  std::int32_t bytes;
  __builtin_memcpy(&bytes, distance, sizeof bytes);
  return reinterpret_cast<std::uint64_t>(distance) + sizeof bytes +
         static_cast<std::uint64_t>(std::int64_t{bytes});
}

// The target of the direct call whose return address is `site`; 0 if no such call stands there.
// Reads the kDirectCallBytes before `site`.
inline std::uint64_t direct_call_target(std::uint64_t site) {
  const auto* call = reinterpret_cast<const std::uint8_t*>(site - kDirectCallBytes);
  return call[0] == 0xe8 ? target_of_distance(call + 1) : 0;
}

// Whether a call or jump of five bytes stands here, and where it leads.
inline std::uint64_t target_of_direct(const std::uint8_t* at) {
  return at[0] == 0xe8 || at[0] == 0xe9 ? target_of_distance(at + 1) : 0;
}

// Whether the code at `from` has a long direct jump, conditional or not, into that at `to`. Looks
// at every byte, as if each began an instruction: one that does not leads there by chance only.
inline bool jumps_into(std::uint64_t from, std::uint32_t from_bytes, std::uint64_t to,
                       std::uint32_t to_bytes) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(from);
  for (const auto* end = at + from_bytes; at + kDirectCallBytes <= end; ++at) {
    const bool is_jump = at[0] == 0xe9, is_conditional = at[0] == 0x0f && (at[1] & 0xf0) == 0x80;
    if (!is_jump && (!is_conditional || at + kDirectCallBytes == end)) continue;
    if (target_of_distance(at + (is_jump ? 1 : 2)) - to < to_bytes) return true;
  }
  return false;
}

}  // namespace fbleprof::arch
