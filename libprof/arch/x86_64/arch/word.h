// How a shadow entry encodes its context in one word, so that a hook can look up (context, call
// site, callee) with a few instructions and compare all of it exactly.
//
// User addresses end at bit 47. A context's number has 30 bits: its word holds the upper 17 from
// bit 47 up, and the lower 13 from bit 30 up. Tag = word ^ call site, so equal tags mean equal
// upper bits. The place of a call's pair of slots in the cache is (hash of tag and callee) ^ lower
// bits. So within one pair, equal tag and equal callee mean equal lower bits, and then an equal
// call site. Two compares prove all 124 bits, and a hit is never wrong, however many contexts there
// are.
#pragma once

#include <cstdint>

#include "arch/hash.h"
#include "arch/hot_layout.h"

namespace fbleprof::arch {

using Word = std::uint64_t;

inline constexpr int kUpperShift = 47;
inline constexpr int kLowerShift = 30;
inline constexpr std::uint32_t kLowerBits = 13;
inline constexpr std::uint32_t kLowerMask = (1u << kLowerBits) - 1;

// Context numbers are below this. The upper bits of a word are never 0 (a tag of 0 marks an empty
// slot) and never all ones (gates).
inline constexpr std::uint32_t kContextLimit = 0x1fffe0u << 9;
static_assert(kContextLimit >> kLowerBits == 0x1fffe);

// Numbers of the C API's blocks are below this; the words of other contexts hold this value
// instead.
inline constexpr std::uint32_t kNoBlock = (1u << 30) - 1;

constexpr Word make_word(std::uint32_t context, std::uint32_t block) {
  return static_cast<Word>((context >> kLowerBits) + 1) << kUpperShift |
         static_cast<Word>(context & kLowerMask) << kLowerShift | block;
}
constexpr std::uint32_t context_of(Word word) {
  return (static_cast<std::uint32_t>(word >> kUpperShift) - 1) << kLowerBits |
         (static_cast<std::uint32_t>(word >> kLowerShift) & kLowerMask);
}
constexpr std::uint32_t block_of(Word word) { return static_cast<std::uint32_t>(word) & kNoBlock; }

// The words of gates name no context.
constexpr Word make_gate_word(std::uint32_t which) {
  return Word{0x1ffff} << kUpperShift | static_cast<Word>(which) << kLowerShift | kNoBlock;
}
constexpr bool is_gate_word(Word word) { return word >> kUpperShift == 0x1ffff; }

// The place, in bytes, of the first slot for a call in the cache; see FIND_SLOT in hooks.S.
inline std::uint64_t slot_offset(Word context, std::uint64_t tag, std::uint64_t callee,
                                 std::uint64_t mask) {
  return (hash_of(callee, tag) ^ context >> (8 * WORD_HASH_BYTE)) & mask;
}
// The places of all slots of a cache.
constexpr std::uint64_t cache_mask(int slot_bits) {
  return ((std::uint64_t{1} << slot_bits) - 1) * SLOT_BYTES;
}
inline constexpr std::uint64_t kFirstCacheMask = cache_mask(CACHE_SLOT_BITS);
inline constexpr std::uint64_t kMostCacheMask = cache_mask(CACHE_MOST_SLOT_BITS);
// The lower bits must fall on bits that choose the pair, not on the bit that chooses a slot in it.
static_assert(kLowerShift - 8 * WORD_HASH_BYTE == 6);
static_assert(kFirstCacheMask == (SLOT_BYTES | std::uint64_t{kLowerMask} << 6));
static_assert((kFirstCacheMask & ~kMostCacheMask) == 0);

}  // namespace fbleprof::arch
