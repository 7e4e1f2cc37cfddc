// The architecture that this folder is for.
#pragma once

#include <cpuid.h>
#include <elf.h>

#include <cstdint>

namespace fbleprof::arch {

inline constexpr std::uint32_t kElfMachine = EM_X86_64;

// What the processor and the kernel let programs use, asked once: where the machine is virtual, its
// host answers each cpuid, which takes as long as 40 system calls. (libgcc's __builtin_cpu_supports
// asks 20 times.)
class Processor {
 public:
  Processor() {
    unsigned a, b, d;
    __cpuid(1, a, b, features_, d);
  }

  // The name, for people, of a feature that the hooks need and this processor lacks; null if it
  // lacks nothing. The hooks hash with crc32.
  const char* missing_feature() const {
    constexpr unsigned kSse42 = 1u << 20;
    return (features_ & kSse42) != 0 ? nullptr : "SSE4.2";
  }

  // Whether the kernel lets programs use xsave. Without it there are no vector registers beyond
  // SSE's.
  bool has_xsave() const {
    constexpr unsigned kEnabledByKernel = 1u << 27;  // OSXSAVE
    return (features_ & kEnabledByKernel) != 0;
  }

 private:
  unsigned features_ = 0;
};

}  // namespace fbleprof::arch
