// The places where libc makes some system calls, and how they are made to lead to us.
//
// libc loads the number (`mov $N,%eax`, five bytes) and makes the call (`syscall`). A jump takes
// the place of the first instruction. It leads to a slot, which calls a gate and jumps behind the
// call: libc's own code goes on with the result. No thread can be inside of the one instruction
// that is replaced.
#pragma once

#include <cstdint>

#include "arch/trampoline.h"

namespace fbleprof::arch {

// What fbleprof_call_gate passes to fbleprof_make_call.
struct GatedCall {
  long number;
  long arguments[6];
};

inline constexpr std::uint64_t kLoadNumberBytes = 5;
inline constexpr std::uint64_t kCallSiteBytes = kLoadNumberBytes + 2;
inline constexpr std::uint64_t kCallSlotBytes = kTrampolineBytes;

// `test %rax,%rax`: libc's code goes on so behind calls that return twice, on two stacks.
inline constexpr std::uint8_t kTestResult[] = {0x48, 0x85, 0xc0};
// What find_call_site reads around a site.
inline constexpr std::uint64_t kBeforeSite = 1;
inline constexpr std::uint64_t kBehindSite = sizeof kTestResult;

enum class Returns : std::uint8_t {
  kOnce,
  kInNewThread,  // too, with 0: clone and clone3 (a fork's child goes on with the same stack)
};

// Looks for the next system call with this number from code + `from` on. Returns its distance from
// `code`; -1: there is none.
inline std::int64_t find_call_site(const std::uint8_t* code, std::uint64_t bytes,
                                   std::uint64_t from, long number, Returns how) {
  std::uint8_t wanted[kCallSiteBytes + kBehindSite] = {0xb8, 0, 0, 0, 0, 0x0f, 0x05};
  const auto low = static_cast<std::uint32_t>(number);
  __builtin_memcpy(wanted + 1, &low, sizeof low);
  __builtin_memcpy(wanted + kCallSiteBytes, kTestResult, sizeof kTestResult);
  const std::uint64_t length = how == Returns::kOnce ? kCallSiteBytes : sizeof wanted;
  for (std::uint64_t i = from; i + length <= bytes; ++i) {
    if (code[i] != wanted[0] || __builtin_memcmp(code + i, wanted, length) != 0) continue;
    // With a prefix before it, it loads another register.
    if (i == 0 || (code[i - 1] & 0xf0) != 0x40) return static_cast<std::int64_t>(i);
  }
  return -1;
}

// Write the slot for the site. `gate` holds the gate's address, near the slot. The first calls the
// gate, which makes the call; the second makes the call, and a new thread calls the gate.
inline void write_call_slot(std::uint8_t* slot, const void* gate, const std::uint8_t* site) {
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
  write_jump(slot, reinterpret_cast<std::uint64_t>(site) + kCallSiteBytes);
}
inline void write_thread_slot(std::uint8_t* slot, const void* gate, const std::uint8_t* site) {
  static constexpr std::uint8_t kIfParent[] = {0x75, kIndirectBytes};  // jne behind the call
  __builtin_memcpy(slot, site, kCallSiteBytes);
  slot += kCallSiteBytes;
  __builtin_memcpy(slot, kTestResult, sizeof kTestResult);
  slot += sizeof kTestResult;
  __builtin_memcpy(slot, kIfParent, sizeof kIfParent);
  slot += sizeof kIfParent;
  write_indirect_call(slot, gate);
  slot += kIndirectBytes;
  write_jump(slot, reinterpret_cast<std::uint64_t>(site) + kCallSiteBytes);
}

}  // namespace fbleprof::arch

// In call_gates.S.
extern "C" void fbleprof_call_gate() __attribute__((visibility("hidden")));
extern "C" void fbleprof_thread_gate() __attribute__((visibility("hidden")));
