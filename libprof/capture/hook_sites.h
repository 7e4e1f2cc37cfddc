// Where the hook sites of a module are (arch/hook_site.h), or can be made.
//
// Sections name the places with room for hooks (arch/hook_sections.h), and only the section table
// tells where these sections are. The table is not loaded, so it is read from the file. The file
// may have been replaced, or be hostile: an entry counts only if it leads to NOPs in the module's
// code.
//
// Calls of hooks that the compiler wrote (-mfentry, -pg) are found in memory, at the starts that
// the unwind table lists.
#pragma once

#include <cstdint>

#include "arch/hook_sections.h"
#include "capture/kernel_file.h"
#include "capture/module_image.h"

namespace fbleprof::capture {

struct AddressRange {
  std::uint64_t begin = 0, end = 0;  // run time
  std::uint64_t size() const { return end - begin; }
};

// The sections that name places with room for hooks, in the order of arch::kHookSections. Empty if
// the module has none. All lie in segments of the module.
struct PatchableSections {
  AddressRange ranges[arch::kHookSectionKinds];
  bool is_unknown = false;  // the file could not be read; then there may be more
  std::uint64_t most_sites() const;
};
PatchableSections find_patchable_sections(const File& file, const ModuleImage& image);

// The sites of one module. Sites beyond its capacity are left out.
class SiteList {
 public:
  SiteList(std::uint64_t module_begin, std::uint32_t* offsets, std::uint64_t capacity)
      : begin_(module_begin), offsets_(offsets), capacity_(capacity) {}

  void add(std::uint64_t address) {
    const std::uint64_t offset = address - begin_;
    if (count_ < capacity_ && offset == static_cast<std::uint32_t>(offset)) {
      offsets_[count_++] = static_cast<std::uint32_t>(offset);
    }
  }
  std::uint32_t count() const { return count_; }
  void cut_to(std::uint32_t count) { count_ = count; }
  std::uint8_t* at(std::uint32_t i) const {
    return reinterpret_cast<std::uint8_t*>(begin_ + offsets_[i]);
  }
  void move(std::uint32_t from, std::uint32_t to) { offsets_[to] = offsets_[from]; }

 private:
  std::uint64_t begin_;
  std::uint32_t* offsets_;
  std::uint64_t capacity_;
  std::uint32_t count_ = 0;
};

// Adds the places of NOPs that are large enough for a site. Returns the number of places that are
// too small. Works before and after the module is relocated.
std::uint32_t find_patchable(const ModuleImage& image, const PatchableSections& sections,
                             SiteList& sites);

// The operands of calls of hooks: the slots with the addresses of hooks, and the stubs that jump
// through these slots.
struct HookNames {
  static constexpr int kMost = 8;
  std::uint64_t addresses[kMost];
  int count = 0;

  void add(std::uint64_t address) {
    if (count < kMost && !has(address)) addresses[count++] = address;
  }
  bool has(std::uint64_t address) const {
    for (int i = 0; i < count; ++i) {
      if (addresses[i] == address) return true;
    }
    return false;
  }
};

// The module's slots for __fentry__, mcount and _mcount, as its relocations name them.
HookNames find_hook_slots(const ModuleImage& image);

// Adds the calls of hooks at the starts of functions; adds the stubs that they call to `names`.
void find_called_hooks(const ModuleImage& image, HookNames& names, SiteList& sites);

}  // namespace fbleprof::capture
