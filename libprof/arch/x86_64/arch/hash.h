// A hash that mixes all bits of two words in two instructions.
#pragma once

#include <cstdint>

namespace fbleprof::arch {

inline std::uint64_t hash_of(std::uint64_t a, std::uint64_t b) {
  asm("crc32q %1, %0" : "+r"(a) : "r"(b));
  return a;
}

}  // namespace fbleprof::arch
