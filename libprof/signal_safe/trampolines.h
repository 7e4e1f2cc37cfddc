// The places of the trampolines of rewritten functions. A region holds the trampolines of one
// module, in slots (arch/trampoline.h), and stays mapped when the module is unloaded. Its first
// slots may hold other code of ours.
//
// Lookups: any thread, hooks and handlers included; no lock, bounded by kMost.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/trampoline.h"

namespace fbleprof::signal_safe {

class Trampolines {
 public:
  static constexpr std::uint32_t kMost = 512;  // modules

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

  // The function whose trampoline the address lies in, or 0.
  std::uint64_t function_at(std::uint64_t address) const {
    const Region* region = region_of(address);
    if (region == nullptr || address < region->functions) return 0;
    const std::uint64_t slot = address - (address - region->begin) % arch::kTrampolineBytes;
    const auto* function = *reinterpret_cast<const arch::RewrittenFunction* const*>(slot);
    return function != nullptr ? function->address : 0;
  }

 private:
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
