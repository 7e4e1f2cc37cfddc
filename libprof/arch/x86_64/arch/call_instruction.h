// Decoding calls and jumps that name their target.
#pragma once

#include <cstdint>

namespace fbleprof::arch {

inline constexpr std::uint64_t kDirectCallBytes = 5;
// What a call leaves on top of the stack.
inline constexpr std::int32_t kReturnAddressBytes = 8;

// The target of an instruction that names it by a 32-bit distance. The distance is at `distance`,
// in the instruction's last four bytes.
inline std::uint64_t target_of_distance(const std::uint8_t* distance) {
  std::int32_t bytes;
  __builtin_memcpy(&bytes, distance, sizeof bytes);
  return reinterpret_cast<std::uint64_t>(distance) + sizeof bytes +
         static_cast<std::uint64_t>(std::int64_t{bytes});
}

// The target of the direct call whose return address is `site`; 0 if there is no such call. Reads
// the kDirectCallBytes before `site`.
inline std::uint64_t direct_call_target(std::uint64_t site) {
  const auto* call = reinterpret_cast<const std::uint8_t*>(site - kDirectCallBytes);
  return call[0] == 0xe8 ? target_of_distance(call + 1) : 0;
}

// The bytes of the call through a register or memory at `at`, 0 if there is none. Reads three.
inline std::uint64_t indirect_call_bytes(const std::uint8_t* at) {
  const unsigned mode = at[1] >> 6, operation = at[1] >> 3 & 7, base = at[1] & 7;
  if (at[0] != 0xff || operation != 2) return 0;
  if (mode == 3) return 2;
  const bool has_index = base == 4, has_no_base = (has_index ? at[2] & 7 : base) == 5;
  const unsigned distance = mode == 1 ? 1 : mode == 2 || has_no_base ? 4 : 0;
  return 2 + (has_index ? 1 : 0) + distance;
}

// Whether a call ends where these bytes end.
inline constexpr std::uint64_t kLongestCall = 7;
inline bool is_call_at_end(const std::uint8_t (&bytes)[kLongestCall]) {
  const std::uint8_t* const end = bytes + kLongestCall;
  if (end[-static_cast<std::int64_t>(kDirectCallBytes)] == 0xe8) return true;
  const std::uint8_t shortest[3] = {end[-2], end[-1]};
  if (indirect_call_bytes(shortest) == 2) return true;
  for (const std::uint8_t* at = bytes; at + 3 <= end; ++at) {
    if (at + indirect_call_bytes(at) == end) return true;
  }
  return false;
}

// Whether there is a five-byte call or jump at `at`, and its target.
inline std::uint64_t target_of_direct(const std::uint8_t* at) {
  return at[0] == 0xe8 || at[0] == 0xe9 ? target_of_distance(at + 1) : 0;
}

// Whether the code at `from` has a long direct jump, conditional or not, into the code at `to`, or
// a short one to its beginning. Looks at every byte as if it began an instruction: a byte inside an
// instruction looks like such a jump only by chance. (Short ones to other places would be many.)
inline bool jumps_into(std::uint64_t from, std::uint32_t from_bytes, std::uint64_t to,
                       std::uint32_t to_bytes) {
  constexpr int kShortJumpBytes = 2;
  const auto* at = reinterpret_cast<const std::uint8_t*>(from);
  for (const auto* end = at + from_bytes; at + kShortJumpBytes <= end; ++at) {
    if (at[0] == 0xeb) {
      const auto distance = static_cast<std::uint64_t>(static_cast<std::int8_t>(at[1]));
      if (reinterpret_cast<std::uint64_t>(at) + kShortJumpBytes + distance == to) return true;
    }
    const auto left = static_cast<std::uint64_t>(end - at);
    if (left < kDirectCallBytes) continue;
    const bool is_jump = at[0] == 0xe9, is_conditional = at[0] == 0x0f && (at[1] & 0xf0) == 0x80;
    if (!is_jump && (!is_conditional || left == kDirectCallBytes)) continue;
    if (target_of_distance(at + (is_jump ? 1 : 2)) - to < to_bytes) return true;
  }
  return false;
}

}  // namespace fbleprof::arch
