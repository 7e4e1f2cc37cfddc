// Where longjmp goes.
#pragma once

#include <cstdint>

namespace fbleprof::arch {

// The stack pointer in a jmp_buf of glibc's, which hides it: mixed with a word of the thread's
// control block, and rotated. Arbitrary if another libc filled the buffer.
inline std::uint64_t stack_pointer_after_jump(const void* buffer) {
  constexpr int kStackPointer = 6, kRotation = 17;
  std::uint64_t guard;
  asm("mov %%fs:0x30, %0" : "=r"(guard));
  const std::uint64_t hidden = static_cast<const std::uint64_t*>(buffer)[kStackPointer];
  return (hidden >> kRotation | hidden << (64 - kRotation)) ^ guard;
}

}  // namespace fbleprof::arch
