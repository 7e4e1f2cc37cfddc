// Reading memory that may not be there, without a system call: the fault is caught.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/registers.h"

extern "C" {
// False if `from` cannot be read and resume_failed_copy is called from the handler of the fault.
bool fbleprof_copy_or_fail(void* to, const void* from, std::size_t bytes)
    __attribute__((visibility("hidden")));
extern const char fbleprof_copy_word[] __attribute__((visibility("hidden")));
extern const char fbleprof_copy_byte[] __attribute__((visibility("hidden")));
extern const char fbleprof_copy_fails[] __attribute__((visibility("hidden")));
}

namespace fbleprof::arch {

// In a handler of SIGSEGV or SIGBUS: whether such a copy met the fault. It then goes on, and fails.
inline bool resume_failed_copy(void* signal_context) {
  auto* registers =
      reinterpret_cast<std::uint64_t*>(static_cast<char*>(signal_context) + kGeneralRegisters);
  const std::uint64_t pc = registers[kGregPc];
  if (pc != reinterpret_cast<std::uint64_t>(fbleprof_copy_word) &&
      pc != reinterpret_cast<std::uint64_t>(fbleprof_copy_byte)) {
    return false;
  }
  registers[kGregPc] = reinterpret_cast<std::uint64_t>(fbleprof_copy_fails);
  return true;
}

}  // namespace fbleprof::arch
