// The architecture that this folder is for.
#pragma once

#include <elf.h>

#include <cstdint>

namespace fbleprof::arch {

inline constexpr std::uint32_t kElfMachine = EM_X86_64;

// What this processor lacks that the hooks need, for people; null if it lacks nothing. They hash
// with crc32 and save vector registers with xsave.
inline const char* missing_feature() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2")) return "SSE4.2";
  return __builtin_cpu_supports("avx") ? nullptr : "AVX";
}

}  // namespace fbleprof::arch
