// Hook sites: instructions at the start of functions that call a hook, or can be switched to do so.
//
// One byte, the opcode, switches a site. Off, the site is an instruction of the same length that
// only reads the call's operand and changes the flags. Callers pass nothing in the flags.
//
//     call HOOK         e8 DISTANCE        test $DISTANCE, %eax   a9 DISTANCE
//     call *SLOT(%rip)  ff 15 DISTANCE     cmp SLOT(%rip), %edx   3b 15 DISTANCE
//
// So threads may run through a site while it is switched: they see one instruction or the other,
// and in both cases an instruction begins at the address behind it. Switching more than one byte
// takes three steps and three barriers (first a short jump over the rest), and does not work where
// the short jump would cross a cache line.
//
// Compilers leave room for a site as NOPs: gcc as single-byte NOPs, clang as long ones, XRay as a
// short jump over one. A thread may be between two single-byte NOPs, so a site is made before any
// thread can run there.
#pragma once

#include <cstdint>

#include "arch/call_instruction.h"
#include "arch/trampoline.h"

namespace fbleprof::arch {

inline constexpr std::uint8_t kCall = 0xe8, kCallOff = 0xa9;
inline constexpr std::uint8_t kCallSlot = 0xff, kCallSlotOff = 0x3b, kSlotMode = 0x15;
inline constexpr std::uint64_t kSiteBytes = 5, kSlotSiteBytes = 6;
inline constexpr std::uint64_t kMarkBytes = 4;  // endbr64

inline bool is_mark(const std::uint8_t* at) {
  static constexpr std::uint8_t kEndbr[kMarkBytes] = {0xf3, 0x0f, 0x1e, 0xfa};
  return __builtin_memcmp(at, kEndbr, kMarkBytes) == 0;
}

// The bytes of the NOP at `at`, 0 if there is none. Reads 15 bytes at most, none from `end` on.
inline std::uint64_t nop_bytes(const std::uint8_t* at, const std::uint8_t* end) {
  constexpr std::uint64_t kMost = 15;
  std::uint64_t n = 0;
  const auto byte = [&](std::uint64_t i) { return at + i < end && i < kMost ? at[i] : 0; };
  while (byte(n) == 0x66 || byte(n) == 0x2e) ++n;
  if (byte(n) == 0x90) return n + 1;
  if (byte(n) != 0x0f || byte(n + 1) != 0x1f || at + n + 2 >= end) return 0;
  const std::uint8_t mode = byte(n + 2);
  n += 3;
  const bool has_index = mode >> 6 != 3 && (mode & 7) == 4;
  if ((mode & 0x38) != 0) return 0;
  if (has_index) ++n;
  if (mode >> 6 == 1) n += 1;
  if (mode >> 6 == 2 || (mode >> 6 == 0 && (mode & 7) == 5)) n += 4;
  return n <= kMost && at + n <= end ? n : 0;
}

// Writes `count` bytes of NOPs, as few as possible.
inline void write_nops(std::uint8_t* at, std::uint64_t count) {
  static constexpr std::uint8_t kNops[9][9] = {
      {0x90},
      {0x66, 0x90},
      {0x0f, 0x1f, 0x00},
      {0x0f, 0x1f, 0x40, 0x00},
      {0x0f, 0x1f, 0x44, 0x00, 0x00},
      {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
      {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
      {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
      {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
  };
  while (count > 0) {
    const std::uint64_t bytes = count < 9 ? count : 9;
    __builtin_memcpy(at, kNops[bytes - 1], bytes);
    at += bytes;
    count -= bytes;
  }
}

// The number of bytes from `at` that are whole NOPs and enough for a site, or 0.
inline std::uint64_t room_for_site(const std::uint8_t* at, const std::uint8_t* end) {
  std::uint64_t room = 0;
  while (room < kSiteBytes) {
    const std::uint64_t bytes = nop_bytes(at + room, end);
    if (bytes == 0) return 0;
    room += bytes;
  }
  return room;
}

// The same for XRay's room: a short jump over a NOP of nine bytes.
inline std::uint64_t room_in_sled(const std::uint8_t* at, const std::uint8_t* end) {
  constexpr std::uint64_t kJump = 2, kBehind = 9;
  if (end - at < static_cast<std::int64_t>(kJump + kBehind) || at[0] != 0xeb || at[1] != kBehind) {
    return 0;
  }
  return nop_bytes(at + kJump, end) == kBehind ? kJump + kBehind : 0;
}

// Turns `room` bytes into a site that calls `hook`. No thread may be near. False: the hook is too
// far away.
inline bool make_site(std::uint8_t* at, std::uint64_t room, std::uint64_t hook, bool is_on) {
  if (!is_near(hook, reinterpret_cast<std::uint64_t>(at) + kSiteBytes)) return false;
  at[0] = is_on ? kCall : kCallOff;
  write_distance(at + 1, hook);
  write_nops(at + kSiteBytes, room - kSiteBytes);
  return true;
}

// The operand of a site, switched on or off: its hook, or the slot with the hook's address. 0: this
// is no site. Reads kSlotSiteBytes.
inline std::uint64_t named_by_site(const std::uint8_t* at) {
  const bool is_slot = (at[0] == kCallSlot || at[0] == kCallSlotOff) && at[1] == kSlotMode;
  if (!is_slot && at[0] != kCall && at[0] != kCallOff) return 0;
  return target_of_distance(at + (is_slot ? 2 : 1));
}

// Switches a site; true if this changed it. Threads may run through the site.
inline bool switch_site(std::uint8_t* at, bool is_on) {
  const bool is_slot = at[0] == kCallSlot || at[0] == kCallSlotOff;
  const std::uint8_t wanted =
      is_slot ? (is_on ? kCallSlot : kCallSlotOff) : (is_on ? kCall : kCallOff);
  if (at[0] == wanted) return false;
  __atomic_store_n(at, wanted, __ATOMIC_RELEASE);
  return true;
}

// The slot that the PLT stub at `stub` jumps through, or 0. Reads kStubBytes.
inline constexpr std::uint64_t kStubBytes = 11;
inline std::uint64_t slot_of_stub(const std::uint8_t* stub) {
  if (is_mark(stub)) stub += kMarkBytes;
  if (stub[0] == 0xf2) ++stub;  // bnd
  if (stub[0] != 0xff || stub[1] != 0x25) return 0;
  return target_of_distance(stub + 2);
}

}  // namespace fbleprof::arch
