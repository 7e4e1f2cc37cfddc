// Recognizes the code by which gcc's unwinder leaves for a landing pad (__builtin_eh_return).
#pragma once

#include <cstdint>

#include "arch/call_instruction.h"

namespace fbleprof::arch {

// Only functions that leave for a landing pad save this register, by DWARF number: it is an
// argument of landing pads.
inline constexpr std::uint8_t kDwarfLandingArgument = 0;

// Where such a function is.
enum class Leaving : std::uint8_t {
  kNotYet,     // the registers that it saved are those of its caller
  kPrepared,   // it has begun to overwrite them with those of the landing pad's function
  kCompleted,  // it has loaded them, and will jump
};

// Whether there is a call of code nearby. The unwinder's functions are in one file of code.
inline bool is_near_call(const std::uint8_t* at) {
  constexpr std::int32_t kNear = 1 << 24;
  if (at[0] != 0xe8) return false;
  std::int32_t distance;
  __builtin_memcpy(&distance, at + 1, sizeof distance);
  return distance > -kNear && distance < kNear;
}

// Where the function is that goes on at `at`. `end`: of its code. Its last calls are the one that
// overwrites the registers, and one of an empty function for debuggers.
inline Leaving leaving_at(const std::uint8_t* at, const std::uint8_t* end) {
  constexpr std::uint8_t kLast[] = {0x48, 0x89, 0xcc,  // mov %rcx, %rsp
                                    0x59,              // pop %rcx
                                    0xff, 0xe1};       // jmp *%rcx
  constexpr std::uint32_t kMostBytes = 256, kJump = 4;
  int calls = 0;
  const auto* here = at - kJump;
  for (; here + sizeof kLast <= end && here < at + kMostBytes; ++here) {
    if (__builtin_memcmp(here, kLast, sizeof kLast) == 0) {
      if (here <= at) return Leaving::kCompleted;
      return calls <= 1 ? Leaving::kPrepared : Leaving::kNotYet;
    }
    if (here >= at) calls += is_near_call(here);
  }
  return Leaving::kNotYet;
}

}  // namespace fbleprof::arch
