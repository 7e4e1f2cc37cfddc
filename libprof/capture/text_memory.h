// Changing code: memory near a module for what its code is made to call, and the protection of its
// text. The text is writable for a moment, but never without PROT_EXEC: libc's functions, which we
// need meanwhile, may call through a program's own PLT.
#pragma once

#include <cstdint>

#include "arch/trampoline.h"
#include "format/format.h"

namespace fbleprof::capture {

enum class RegionUse : std::uint8_t {
  kTrampolines,  // of rewritten functions
  kSites,        // the way of patchable functions to their hook, and a list of them
  kCalledHooks,  // a list of calls of hooks
  kWatch,        // the way from the loader to us
};

// A mapping from which all of one module can be reached by a distance of 32 bits: the hook's
// address, slots of code (arch/trampoline.h), and other bytes.
struct Region {
  char* base;
  std::uint64_t bytes;
  std::uint64_t module_begin;
  std::uint32_t slots;
  RegionUse use;
};
inline constexpr std::uint64_t kRegionHeadBytes = arch::kTrampolineBytes;

// A writable region for the module: a new one, or one that served a module which was unloaded
// since. Null: there is none. One thread at a time.
Region* take_region(const format::Module& module, RegionUse use, std::uint32_t slots,
                    std::uint64_t more_bytes);

std::uint32_t region_count();
Region& region_at(std::uint32_t index);
template <typename Function>
void for_each_code_region(Function function) {
  for (std::uint32_t i = 0; i < region_count(); ++i) function(region_at(i));
}

// Sets the protection of the pages from `begin` to `end`. False: the system refuses.
bool protect(std::uint64_t begin, std::uint64_t end, int protection);

// Where the system enforces W^X (seccomp, SELinux), one line says so, and nothing more is tried.
inline constexpr char kCodeIsFixed[] = "the system forbids changing code (W^X)";
extern bool code_is_fixed;

}  // namespace fbleprof::capture
