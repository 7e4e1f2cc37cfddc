// Reads memory that may not exist, without a system call: a handler catches the fault.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/registers.h"

extern "C" {
// Returns false if `from` cannot be read and the fault's handler calls resume_failed_copy.
bool fbleprof_copy_or_fail(void* to, const void* from, std::size_t bytes)
    __attribute__((visibility("hidden")));
extern const char fbleprof_copy_word[] __attribute__((visibility("hidden")));
extern const char fbleprof_copy_byte[] __attribute__((visibility("hidden")));
extern const char fbleprof_copy_fails[] __attribute__((visibility("hidden")));
}

namespace fbleprof::arch {

// In a handler of SIGSEGV or SIGBUS: whether such a copy caused the fault. The copy then resumes
// and returns false.
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
