// Maps keys to records, each made once: two threads that ask for the same key at the same time get
// the same record. To guarantee that without a lock, nothing ever moves: a larger table follows a
// full one, and a key is in the first table that had a free place near its home.
//
// For rare lookups. All functions: any thread, hooks and handlers included; bounded.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/format.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

class KeyTable {
 public:
  struct Item {
    std::atomic<std::uint64_t> key;
    std::atomic<format::Ref> record;  // 0 while it is being made, or if it was forgotten
    std::uint32_t reserved;
  };

  // Starts empty. Not thread-safe; call it before anything else uses the table.
  bool start(Pages* pages);

  // The place of a key (not 0), reserved for the key if it is new; null if there is no memory.
  Item* place_of(std::uint64_t key);

  // The record of a key, or 0. Reserves no place.
  format::Ref find(std::uint64_t key) const;

  template <typename Visit>
  void for_each(Visit visit) {
    for (int p = 0; p < kMostParts; ++p) {
      Item* items = parts_[p].load(std::memory_order_acquire);
      if (items == nullptr) return;
      for (std::uint64_t i = 0; i < size_of(p); ++i) {
        const std::uint64_t key = items[i].key.load(std::memory_order_acquire);
        if (key != 0) visit(key, items[i]);
      }
    }
  }

 private:
  static constexpr int kMostParts = 12;
  static constexpr int kWindow = 16;  // places near a key's home
  static constexpr std::uint64_t size_of(int part) { return std::uint64_t{1} << (10 + 2 * part); }
  Item* part(int number);

  Pages* pages_ = nullptr;
  std::atomic<Item*> parts_[kMostParts] = {};
};

}  // namespace fbleprof::signal_safe
