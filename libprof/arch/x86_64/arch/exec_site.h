// The places where libc makes the system calls of exec, and how they are made to lead to us.
//
// libc loads the number (`mov $N,%eax`, five bytes) and makes the call (`syscall`). A jump takes
// the place of the first instruction. It leads to a slot, which loads the number, calls
// fbleprof_exec_gate and jumps behind the call: libc's own code goes on with the result. No thread
// can be inside of the one instruction that is replaced.
#pragma once

#include <cstdint>

#include "arch/trampoline.h"

namespace fbleprof::arch {

// What the gate passes to fbleprof_make_exec_call.
struct ExecCall {
  long number;
  long arguments[6];
};

inline constexpr std::uint64_t kLoadNumberBytes = 5;
inline constexpr std::uint64_t kExecSiteBytes = kLoadNumberBytes + 2;
inline constexpr std::uint64_t kExecSlotBytes = kTrampolineBytes;

// Looks for the system call with this number in code of libc's. Returns its distance from `code`;
// -1: it is not there.
inline std::int64_t find_exec_site(const std::uint8_t* code, std::uint64_t bytes, long number) {
  std::uint8_t wanted[kExecSiteBytes] = {0xb8, 0, 0, 0, 0, 0x0f, 0x05};
  const auto low = static_cast<std::uint32_t>(number);
  __builtin_memcpy(wanted + 1, &low, sizeof low);
  for (std::uint64_t i = 0; i + kExecSiteBytes <= bytes; ++i) {
    // With a prefix before it, it loads another register.
    const bool has_prefix = i != 0 && (code[i - 1] & 0xf0) == 0x40;
    if (__builtin_memcmp(code + i, wanted, kExecSiteBytes) == 0 && !has_prefix) {
      return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

// Writes the slot for the site. `gate` holds the gate's address, near the slot.
inline void write_exec_slot(std::uint8_t* slot, const void* gate, const std::uint8_t* site) {
  static constexpr std::uint8_t kPassRedZone[] = {0x48, 0x8d, 0x64, 0x24, 0x80};
  static constexpr std::uint8_t kPassBack[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0};
  __builtin_memcpy(slot, kPassRedZone, sizeof kPassRedZone);
  slot += sizeof kPassRedZone;
  __builtin_memcpy(slot, site, kLoadNumberBytes);
  slot += kLoadNumberBytes;
  write_indirect_call(slot, gate);
  slot += kIndirectBytes;
  __builtin_memcpy(slot, kPassBack, sizeof kPassBack);
  slot += sizeof kPassBack;
  write_jump(slot, reinterpret_cast<std::uint64_t>(site) + kExecSiteBytes);
}

}  // namespace fbleprof::arch

// In exec_gate.S.
extern "C" void fbleprof_exec_gate() __attribute__((visibility("hidden")));
