// The places of the trampolines of rewritten functions. A region holds the trampolines of one
// module, in slots (arch/trampoline.h), and stays mapped when the module is unloaded. Its first
// slots may hold other code of ours.
//
// Lookups: any thread, hooks and handlers included; no lock, bounded by kMost.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/call_instruction.h"
#include "arch/trampoline.h"

namespace fbleprof::signal_safe {

class Trampolines {
 public:
  static constexpr std::uint32_t kMost = 1024;  // modules

  struct Region {
    std::uint64_t begin, functions, end;  // its slots; those of functions
  };

  // Call it from one thread at a time. False: there are too many regions already.
  bool add(const Region& region) {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == kMost) return false;
    regions_[count] = region;
    count_.store(count + 1, std::memory_order_release);
    return true;
  }

  bool contains(std::uint64_t address) const { return region_of(address) != nullptr; }

  // Whether the address lies in a region's own slots, where copies of hooks are.
  bool holds_own_code(std::uint64_t address) const {
    const Region* region = region_of(address);
    return region != nullptr && address < region->functions;
  }

  // The function whose trampoline the address lies in, or null.
  const arch::RewrittenFunction* rewritten_at(std::uint64_t address) const {
    const Region* region = region_of(address);
    if (region == nullptr || address < region->functions) return nullptr;
    return record_of(slot_of(*region, address));
  }

  // The same, as its address, or 0.
  std::uint64_t function_at(std::uint64_t address) const {
    const auto* function = rewritten_at(address);
    return function != nullptr ? function->address : 0;
  }

  // Whether a trampoline calls its hook there.
  bool calls_hook_at(std::uint64_t address) const {
    return function_at(address) != 0 &&
           address - slot_of(*region_of(address), address) == arch::kTrampolineEntry;
  }

  // Where the displaced instruction at the address stood, or 0: it is no displaced instruction.
  std::uint64_t origin_of(std::uint64_t address) const {
    const Region* region = region_of(address);
    if (region == nullptr || address < region->functions) return 0;
    const std::uint64_t slot = slot_of(*region, address);
    const auto* function = record_of(slot);
    if (function == nullptr || !function->has_window()) return 0;
    const std::uint64_t offset = address - slot;
    if (offset < arch::kTrampolineCode || offset >= arch::kTrampolineWord) return 0;
    return function->window_begin() + in_window(*function, offset - arch::kTrampolineCode);
  }

  // The inverse, for one of whose displaced instructions `address` is: where to continue if code
  // wants to continue at `origin`. The jump to the trampoline stands in the window now.
  std::uint64_t place_of(std::uint64_t address, std::uint64_t origin) const {
    const std::uint64_t slot = slot_of(*region_of(address), address);
    const auto* function = record_of(slot);
    const std::uint64_t offset = origin - function->window_begin();
    if (offset >= arch::kDirectBytes) return origin;
    std::uint64_t code = offset;
    for (const std::uint8_t end : function->branch_ends) {
      if (end != 0 && code + arch::kBranchGrowth >= end) code += arch::kBranchGrowth;
    }
    return slot + arch::kTrampolineCode + code;
  }

  // Whether what stands before `site` in a function, whose code begins at `begin`, is overwritten
  // by the jump to its trampoline. Then `target` is that of the displaced direct call that returns
  // to `site`, 0 if there is none. Reads the code between the two.
  bool is_overwritten(std::uint64_t begin, std::uint64_t site, std::uint64_t& target) const {
    const std::uint64_t call = site - arch::kDirectCallBytes;
    for (std::uint64_t window = call; window >= begin && call - window < arch::kDirectBytes;
         --window) {
      const auto* jump = reinterpret_cast<const std::uint8_t*>(window);
      if (jump[0] != 0xe9) continue;
      const std::uint64_t entry = arch::target_of_distance(jump + 1);
      const auto* function = rewritten_at(entry);
      if (function == nullptr || !function->has_window() || function->window_begin() != window) {
        continue;
      }
      const std::uint64_t word = slot_of(*region_of(entry), entry) + arch::kTrampolineWord;
      target =
          arch::displaced_call_target(reinterpret_cast<const std::uint8_t*>(place_of(entry, call)),
                                      reinterpret_cast<const std::uint64_t*>(word), site);
      return true;
    }
    return false;
  }

 private:
  static std::uint64_t slot_of(const Region& region, std::uint64_t address) {
    return address - (address - region.begin) % arch::kTrampolineBytes;
  }

  static const arch::RewrittenFunction* record_of(std::uint64_t slot) {
    return *reinterpret_cast<const arch::RewrittenFunction* const*>(slot);
  }

  // From an offset in the trampoline's code, of the beginning of an instruction, to that in the
  // window.
  static std::uint64_t in_window(const arch::RewrittenFunction& function, std::uint64_t code) {
    std::uint64_t offset = code;
    for (const std::uint8_t end : function.branch_ends) {
      if (end != 0 && code >= end) offset -= arch::kBranchGrowth;
    }
    return offset;
  }

  const Region* region_of(std::uint64_t address) const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (address >= regions_[i].begin && address < regions_[i].end) return &regions_[i];
    }
    return nullptr;
  }

  Region regions_[kMost] = {};
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace fbleprof::signal_safe
