// Memory near a module for the code that the module is made to call, and the protection of the
// module's text. The text is writable for a moment, but always executable: libc's functions, which
// we need meanwhile, may call through a program's own PLT.
#pragma once

#include <cstdint>

#include "arch/trampoline.h"
#include "format/format.h"

namespace fbleprof::capture {

enum class RegionUse : std::uint8_t {
  kTrampolines,  // of rewritten functions
  kSites,        // the path from patchable functions to their hook, and a list of them
  kCalledHooks,  // a list of calls of hooks
  kWatch,        // the path from the loader to us
  kCalls,        // the paths from system calls of libc to us
};

// Slots of code: our own first, then those of functions.
struct SlotCounts {
  std::uint32_t own, functions;

  std::uint32_t all() const { return own + functions; }
};

// A mapping that all of one module can reach with 32-bit distances: the hook's address, slots of
// code (arch/trampoline.h), and other bytes, from the next page on.
struct Region {
  char* base;
  std::uint64_t bytes;
  std::uint64_t module_begin;
  SlotCounts slots;
  RegionUse use;
};
inline constexpr std::uint64_t kRegionHeadBytes = arch::kTrampolineBytes;

// A writable region for the module: a new one, or the region of a module that was unloaded. Null if
// there is none. One thread at a time.
Region* take_region(const format::Module& module, RegionUse use, SlotCounts slots,
                    std::uint64_t other_bytes);
// Regions of a module that is gone, or that could not be rewritten, belong to nobody: a forked
// child takes what has trampolines for rewritten. The paths from the loader and from libc to us
// stay.
void release_regions(std::uint64_t module_begin);
// Those of modules that were at the places of the new ones (modules.h).
void release_regions_of_former_modules();
// Why take_region has just given none.
const char* why_no_region();

// Where the slots' pages end and the other bytes begin.
char* end_of_slots(const Region& region);

// Makes the slots executable, and no longer writable. False: the system refuses.
bool seal_slots(const Region& region);
// Makes sealed slots writable again, and leaves them executable: threads may run there.
bool open_slots(const Region& region);

std::uint32_t region_count();
Region& region_at(std::uint32_t index);
template <typename Function>
void for_each_code_region(Function function) {
  for (std::uint32_t i = 0; i < region_count(); ++i) function(region_at(i));
}

// Sets the protection of the pages from `begin` to `end`. False: the system refuses.
bool protect(std::uint64_t begin, std::uint64_t end, int protection);

// Where the system enforces W^X (seccomp, SELinux), one line says so, and the recorder stops
// trying.
inline constexpr char kCodeIsFixed[] = "the system forbids changing code (W^X)";
extern bool code_is_fixed;

}  // namespace fbleprof::capture
