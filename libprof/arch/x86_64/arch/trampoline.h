// The trampolines of rewritten functions: their layout in memory, and the code that leads to them.
//
// A slot has 64 bytes: the address of a RewrittenFunction; a call of the hook; the function's first
// instructions, if they were displaced, and a jump to the rest; a word for a return address that
// they push. The hook finds the slot from its own return address.
#pragma once

#include <cstdint>

#include "arch/call_instruction.h"
#include "arch/hot_layout.h"

namespace fbleprof::arch {

inline constexpr std::uint64_t kTrampolineBytes = 64;
inline constexpr std::uint64_t kTrampolineEntry = 8;
inline constexpr std::uint64_t kTrampolineCode = kTrampolineEntry + TRAMPOLINE_CALL_BYTES;
inline constexpr std::uint64_t kTrampolineWord = kTrampolineBytes - 8;
static_assert(kTrampolineCode == TRAMPOLINE_FUNCTION);

// The function of a trampoline. Unlike the slot, it is writable. Calls that miss the cache read it,
// so it is half a cache line.
struct RewrittenFunction {
  static constexpr std::int32_t kNoWindow = INT32_MIN;

  std::uint64_t address;
  std::uint64_t known;         // for CodeMap::known_hook_of; 0 at first
  std::uint64_t jumps_from;    // the only function that leads here, by tail calls; 0: any code
  std::int32_t window;         // from the address to where the displaced instructions stood
  std::uint8_t is_leaf;        // 1: it calls nothing, so it has no entry
  std::uint8_t is_taken_back;  // 1: it calls no hook any more
  // Where, in the trampoline's code, a branch ends that is kBranchGrowth bytes longer than it was;
  // 0: none.
  std::uint8_t branch_ends[2];

  bool has_window() const { return window != kNoWindow; }
  std::uint64_t window_begin() const {
    return address + static_cast<std::uint64_t>(std::int64_t{window});
  }
};
static_assert(sizeof(RewrittenFunction) == 32);
inline constexpr std::uint64_t kBranchGrowth = 4;

// The function of the trampoline that called the hook.
inline RewrittenFunction* function_of_trampoline(std::uint64_t hook_return) {
  return *reinterpret_cast<RewrittenFunction* const*>(hook_return - TRAMPOLINE_FUNCTION);
}

// Whether a distance at this place in code is that of a conditional jump.
inline bool is_of_branch(const std::uint8_t* code, std::uint64_t at) {
  return at >= 2 && code[at - 2] == 0x0f && (code[at - 1] & 0xf0) == 0x80;
}

// Whether a 32-bit distance from the end of an instruction reaches `to`.
inline bool is_near(std::uint64_t to, std::uint64_t end) {
  const auto distance = static_cast<std::int64_t>(to - end);
  return distance == static_cast<std::int32_t>(distance);
}

// Writes the 32-bit distance of an instruction that will end at `end`.
inline void write_distance_from(std::uint8_t* at, std::uint64_t end, std::uint64_t to) {
  const auto distance = static_cast<std::int32_t>(to - end);
  __builtin_memcpy(at, &distance, sizeof distance);
}

// Writes the 32-bit distance of an instruction that has `trailing` more bytes after the distance.
inline void write_distance(std::uint8_t* at, std::uint64_t to, std::uint64_t trailing = 0) {
  write_distance_from(at, reinterpret_cast<std::uint64_t>(at) + 4 + trailing, to);
}

// Write a jump and a call, five bytes each.
inline void write_jump(std::uint8_t* at, std::uint64_t to) {
  at[0] = 0xe9;
  write_distance(at + 1, to);
}
inline void write_call(std::uint8_t* at, std::uint64_t to) {
  at[0] = 0xe8;
  write_distance(at + 1, to);
}

// Makes the bytes of a direct jump or call, which are to stand at `address`, lead to `to`.
inline constexpr std::uint64_t kDirectBytes = 5;
inline void redirect(std::uint8_t (&bytes)[kDirectBytes], std::uint64_t address, std::uint64_t to) {
  write_distance_from(bytes + 1, address + kDirectBytes, to);
}
inline void replace_by_jump(std::uint8_t (&bytes)[kDirectBytes], std::uint64_t address,
                            std::uint64_t to) {
  bytes[0] = 0xe9;
  redirect(bytes, address, to);
}

// Write `jmp *(address)` and `call *(address)`.
inline constexpr std::uint64_t kIndirectBytes = 6;
inline void write_indirect_jump(std::uint8_t* at, const void* address) {
  at[0] = 0xff;
  at[1] = 0x25;
  write_distance(at + 2, reinterpret_cast<std::uint64_t>(address));
}
inline void write_indirect_call(std::uint8_t* at, const void* address) {
  write_indirect_jump(at, address);
  at[1] = 0x15;
}

// The target of the displaced direct call at `at`, which pushes the return address `site` from its
// trampoline's `word`, and jumps; 0: it is something else. Reads 11 bytes.
inline std::uint64_t displaced_call_target(const std::uint8_t* at, const std::uint64_t* word,
                                           std::uint64_t site) {
  if (at[0] != 0xff || at[1] != 0x35 || at[6] != 0xe9) return 0;
  const bool is_push_of_site =
      target_of_distance(at + 2) == reinterpret_cast<std::uint64_t>(word) && *word == site;
  return is_push_of_site ? target_of_distance(at + 7) : 0;
}

// Whether a function only returns, and five bytes of it can be overwritten. Returns the first of
// these bytes, or null.
inline std::uint8_t* only_returns(std::uint8_t* function) {
  static constexpr std::uint8_t kEndbr[4] = {0xf3, 0x0f, 0x1e, 0xfa};
  std::uint8_t* at = function;
  if (__builtin_memcmp(at, kEndbr, sizeof kEndbr) == 0) at += sizeof kEndbr;
  if (at[0] != 0xc3) return nullptr;
  // The rest must be padding up to the next multiple of 16.
  const auto end = (reinterpret_cast<std::uint64_t>(at) + 16) & ~std::uint64_t{15};
  if (end - reinterpret_cast<std::uint64_t>(at) < 5) return nullptr;
  static constexpr std::uint8_t kPadding[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x80,
                                              0x40, 0x44, 0x90, 0x00, 0xcc};
  for (std::uint8_t* byte = at + 1; reinterpret_cast<std::uint64_t>(byte) < end; ++byte) {
    bool is_padding = false;
    for (const std::uint8_t each : kPadding) is_padding |= *byte == each;
    if (!is_padding) return nullptr;
  }
  return at;
}

}  // namespace fbleprof::arch
