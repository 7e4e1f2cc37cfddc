// The places of the trampolines of rewritten functions. A region holds the trampolines of one
// module, in slots (arch/trampoline.h), and stays mapped when the module is unloaded.
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
    std::uint64_t begin, end;  // of its slots
  };

  // Call it from one thread at a time. False: there are too many regions already.
  bool add(std::uint64_t begin, std::uint64_t end) {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == kMost) return false;
    regions_[count] = {begin, end};
    count_.store(count + 1, std::memory_order_release);
    return true;
  }

  bool contains(std::uint64_t address) const { return slot_of(address) != 0; }

  // The function whose trampoline the address lies in, or 0.
  std::uint64_t function_at(std::uint64_t address) const {
    const std::uint64_t slot = slot_of(address);
    return slot != 0 ? *reinterpret_cast<const std::uint64_t*>(slot) : 0;
  }

 private:
  std::uint64_t slot_of(std::uint64_t address) const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (address >= regions_[i].begin && address < regions_[i].end) {
        return address - (address - regions_[i].begin) % arch::kTrampolineBytes;
      }
    }
    return 0;
  }

  Region regions_[kMost] = {};
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace fbleprof::signal_safe
