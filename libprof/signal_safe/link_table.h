// The ways of a tree that do not fit into their context's own line, which has room for five
// (CallTree): maps (context, key) to a way's target. Exact and complete: no entry is forgotten, and
// no two are the same.
//
// The table doubles when it is three quarters full. Each addition moves a few entries of the old
// part, so no single call pays for all of it.
//
// One writer, which holds the thread's BusyGuard. Lookups and additions are bounded by the longest
// run of taken slots.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

class LinkTable {
 public:
  struct Item {
    format::Ref from;
    std::uint32_t key;
    std::uint32_t target;  // 0: the slot is empty
    std::uint32_t reserved;
  };
  // Small trees live in `first`, zeroed memory that the table does not own.
  static constexpr std::uint32_t kFirstItems = 32;

  void adopt(Pages* pages, Item* first);

  // The first entry with this key whose target `accept` accepts, or 0.
  template <typename Accept>
  std::uint32_t find(format::Ref from, std::uint32_t key, Accept accept) const {
    if (const std::uint32_t found = find_in(now_, from, key, accept)) return found;
    return before_.items != nullptr ? find_in(before_, from, key, accept) : 0;
  }

  // Makes sure that an entry can be added. False: there is no memory for it.
  bool make_room();
  // Adds an entry, after make_room().
  void add(format::Ref from, std::uint32_t key, std::uint32_t target);

  std::uint32_t size() const { return count_; }

 private:
  struct Part {
    Item* items = nullptr;
    std::uint32_t mask = 0;  // one less than there are
  };
  static std::uint32_t home(format::Ref from, std::uint32_t key) {
    const std::uint64_t mixed = (std::uint64_t{from} << 32 | key) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(mixed >> 32);
  }
  template <typename Accept>
  static std::uint32_t find_in(const Part& part, format::Ref from, std::uint32_t key,
                               Accept accept) {
    for (std::uint32_t i = home(from, key) & part.mask;; i = (i + 1) & part.mask) {
      const Item& item = part.items[i];
      if (item.target == 0) return 0;
      if (item.from == from && item.key == key && accept(item.target)) return item.target;
    }
  }
  static void put(const Part& part, const Item& item);
  void move_some(std::uint32_t most);

  Pages* pages_ = nullptr;
  Item* first_ = nullptr;
  Part now_, before_;  // before_: the old part, while its entries are being moved
  std::uint32_t next_to_move_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace fbleprof::signal_safe
