// The architecture that this folder is for.
#pragma once

#include <cpuid.h>
#include <elf.h>

#include <cstdint>

namespace fbleprof::arch {

inline constexpr std::uint32_t kElfMachine = EM_X86_64;

// The name, for people, of a feature that the hooks need and this processor lacks; null if it lacks
// nothing. The hooks hash with crc32.
inline const char* missing_feature() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") ? nullptr : "SSE4.2";
}

// Whether the kernel lets programs use xsave. Without it there are no vector registers beyond
// SSE's.
inline bool has_xsave() {
  constexpr unsigned kEnabledByKernel = 1u << 27;  // OSXSAVE
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kEnabledByKernel) != 0;
}

}  // namespace fbleprof::arch
