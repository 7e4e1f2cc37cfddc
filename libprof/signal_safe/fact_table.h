// Facts about code addresses, looked up once per process: from an address to the record of the
// function that owns it. All threads share the table; hooks and handlers may add to it at any time.
//
// A lookup is mostly one probe of an open table. When the table is half full, the next addition
// copies it into a table of twice the size; the old one stays for threads that are reading it. A
// fact added to the old one meanwhile is lost and will be looked up again. That costs time once,
// and nobody ever waits.
//
// All functions: any thread, hooks and handlers included; no lock, bounded.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/format.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

class FactTable {
 public:
  // Starts empty. Not thread-safe; call it before anything else uses the table.
  bool start(Pages* pages);

  // The record known for `key` (not 0), or 0.
  format::Ref find(std::uint64_t key) const {
    const Part* part = part_.load(std::memory_order_acquire);
    if (part == nullptr) return 0;
    std::uint32_t i = home(key) & part->mask;
    for (int probes = 0; probes < kMostProbes; ++probes, i = (i + 1) & part->mask) {
      const Item& item = part->items[i];
      const std::uint64_t found = item.key.load(std::memory_order_relaxed);
      if (found == key) return item.function.load(std::memory_order_acquire);
      if (found == 0) return 0;
    }
    return 0;
  }
  void add(std::uint64_t key, format::Ref function);

  // Forgets all keys for which is_gone(key).
  template <typename Predicate>
  void forget(Predicate is_gone) {
    // A copy in progress may miss the changes below; its maker sees the new generation.
    generation_.fetch_add(1, std::memory_order_seq_cst);
    const Part* part = part_.load(std::memory_order_seq_cst);
    for (std::uint64_t i = 0; part != nullptr && i <= part->mask; ++i) {
      const std::uint64_t key = part->items[i].key.load(std::memory_order_relaxed);
      if (key != 0 && is_gone(key)) part->items[i].function.store(0, std::memory_order_release);
    }
  }

 private:
  struct Item {
    std::atomic<std::uint64_t> key;
    std::atomic<format::Ref> function;  // 0: not known yet, or forgotten
    std::uint32_t reserved;
  };
  struct Part {
    Item* items;
    std::uint32_t mask;
  };
  static constexpr int kMostProbes = 64;
  static constexpr std::uint32_t kFirstItems = 1u << 10;
  static constexpr int kMostParts = 22;

  static std::uint32_t home(std::uint64_t key) {
    return static_cast<std::uint32_t>(key * 0x9e3779b97f4a7c15u >> 32);
  }
  static bool put(const Part& part, std::uint64_t key, format::Ref function, bool* is_new);
  void grow(const Part* from);

  Pages* pages_ = nullptr;
  std::atomic<const Part*> part_{nullptr};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<bool> growing_{false};
  Part parts_[kMostParts] = {};
  int part_count_ = 0;
};

}  // namespace fbleprof::signal_safe
