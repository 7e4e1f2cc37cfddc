// The sections in which compilers list places for hooks. Each entry of kHookSections is one way to
// leave room for hooks: the recorder makes the places hook sites (hook_site.h), and the report's
// --coverage lists their functions.
#pragma once

#include <cstdint>

#include "arch/hook_site.h"

namespace fbleprof::arch {

struct HookSection {
  static constexpr std::uint32_t kMostNameBytes = 32;  // with the final 0

  const char* name;
  std::uint32_t item_bytes;
  // The address that the item at address `at` names: an address of the file, or of the process
  // after the item was relocated. 0: it names none, or its relocation is still to come.
  std::uint64_t (*address)(const std::uint8_t* item, std::uint64_t at);
  // Whether a relocation may fill in the item's address.
  bool is_relocated;
  // Whether the address may be that of NOPs before the function, or of a mark before the NOPs.
  bool may_be_before;
  // The number of bytes at the address that a site can use, 0 if there are too few.
  std::uint64_t (*room)(const std::uint8_t* code, const std::uint8_t* end);
  // Whether the compiler may have put a call of a hook there instead of room.
  bool may_call;
};

inline std::uint64_t listed_address(const std::uint8_t* item, std::uint64_t /*at*/) {
  std::uint64_t address;
  __builtin_memcpy(&address, item, sizeof address);
  return address;
}

// An entry of xray_instr_map. From version 2 on, its addresses are relative to their own places.
inline std::uint64_t address_of_sled(const std::uint8_t* item, std::uint64_t at) {
  constexpr std::uint8_t kOfEntry = 0, kOfEntryWithArguments = 3, kRelative = 2;
  const std::uint8_t kind = item[16], version = item[18];
  if (kind != kOfEntry && kind != kOfEntryWithArguments) return 0;
  return listed_address(item, at) + (version >= kRelative ? at : 0);
}

inline constexpr HookSection kHookSections[] = {
    // gcc and clang -fpatchable-function-entry
    {.name = "__patchable_function_entries",
     .item_bytes = 8,
     .address = listed_address,
     .is_relocated = true,
     .may_be_before = true,
     .room = room_for_site,
     .may_call = false},
    // clang -fxray-instrument
    {.name = "xray_instr_map",
     .item_bytes = 32,
     .address = address_of_sled,
     .is_relocated = false,
     .may_be_before = false,
     .room = room_in_sled,
     .may_call = false},
    // gcc -pg -mfentry -mrecord-mcount -mnop-mcount; without the last, it lists calls of the hook
    {.name = "__mcount_loc",
     .item_bytes = 8,
     .address = listed_address,
     .is_relocated = true,
     .may_be_before = false,
     .room = room_for_site,
     .may_call = true},
};
inline constexpr std::uint32_t kHookSectionKinds = sizeof kHookSections / sizeof *kHookSections;
static_assert([] {
  for (const HookSection& section : kHookSections) {
    if (__builtin_strlen(section.name) >= HookSection::kMostNameBytes) return false;
  }
  return true;
}());

}  // namespace fbleprof::arch
