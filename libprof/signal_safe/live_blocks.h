// The blocks that are allocated, with their owner, size and time of birth: for allocations that are
// recorded one by one.
//
// A directory of two levels holds an item for each possible address of a block. Its memory is
// mapped where blocks are, and touched as the program touches its own: 12 bytes for each 32 of the
// heap with glibc, whose blocks are at least that far apart.
//
// No lock and no atomic operation: from the allocator's return to the call that frees it, a block
// belongs to one owner, and so does its item. So an item is removed before the block is freed:
// afterwards the block may have a new owner.
//
// The kernel wipes the tables in a forked child, whose profile begins empty. Any thread, hooks
// included.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

struct LiveBlock {
  format::Ref node = 0;  // 0: there is no such block
  std::uint64_t bytes = 0;
  std::uint32_t owner = 0;  // the thread that allocated it (AllocationThread::number); 0 = unknown
  std::uint32_t birth = 0;  // in units of kBirthShift

  // Whether a search for reachable blocks got here; see LiveBlocks::mark.
  bool is_marked() const { return owner == kMarkedOwner; }
  static constexpr std::uint32_t kMarkedOwner = 63;
};

class LiveBlocks {
 public:
  static constexpr int kOwnerBits = 6;
  static constexpr std::uint32_t kOwners = LiveBlock::kMarkedOwner;  // numbers are below this
  static constexpr int kBirthBits = 32 - kOwnerBits;
  static constexpr std::uint32_t kBirthMask = (1u << kBirthBits) - 1;  // then births start over
  static constexpr int kBirthShift = 20;  // 2^20 ns: 1.05 ms; they start over after 19 hours

  // `least_distance`: blocks are never closer; a power of two. False: there is no memory.
  bool start(Pages* pages, std::uint32_t least_distance);
  bool is_on() const { return directory_ != nullptr; }

  // The size that take() tells of a block of so many bytes: exact below 8 GiB, then in pages, and
  // at most 32 TiB. What is counted when the block is added must be the same.
  static std::uint64_t kept(std::uint64_t bytes) {
    return bytes < kLarge ? bytes : unpack_bytes(pack_bytes(bytes));
  }

  // False: there is no memory for it.
  bool add(const void* block, const LiveBlock& what) {
    Item* item = item_of(block);
    if (item == nullptr) {
      item = make_item(block);
      if (item == nullptr) return false;
    }
    const std::uint64_t packed = what.node >> 1 | pack_bytes(what.bytes) << kNodeBits;
    item->node_and_bytes[0] = static_cast<std::uint32_t>(packed);
    item->node_and_bytes[1] = static_cast<std::uint32_t>(packed >> 32);
    item->owner_and_birth = what.owner | what.birth << kOwnerBits;
    return true;
  }

  LiveBlock find(const void* block) const {
    const Item* item = item_of(block);
    return item != nullptr ? unpack(*item) : LiveBlock{};
  }

  LiveBlock take(const void* block) {
    Item* item = item_of(block);
    if (item == nullptr) return {};
    const LiveBlock found = unpack(*item);
    item->node_and_bytes[0] = item->node_and_bytes[1] = 0;
    return found;
  }

  // Calls visit(begin, block) for each. The block begins at `begin`, or up to half of
  // least_distance() later. is_touched(address): whether that page of the tables was ever written.
  // To read the others, of which there are thousands, takes a page fault each.
  template <typename Visit, typename IsTouched>
  void for_each(Visit visit, IsTouched is_touched) const {
    const auto visit_leaf = [&](std::uint64_t d, const Item* leaf) {
      const std::uint64_t count = items_per_leaf();
      for (std::uint64_t i = 0; i < count;) {
        const std::uint64_t page_end = ((i * sizeof(Item)) >> kPageShift) + 1;
        std::uint64_t next = ((page_end << kPageShift) + sizeof(Item) - 1) / sizeof(Item);
        if (next > count) next = count;
        if (!is_touched(leaf + i)) i = next;
        for (; i < next; ++i) {
          const LiveBlock block = unpack(leaf[i]);
          if (block.node != 0) visit(d << kLeafBits | i << distance_shift_, block);
        }
      }
    };
    for_each_leaf(visit_leaf, is_touched);
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for_each(visit, [](const void*) { return true; });
  }

  // For a search of reachable blocks, at the end. Marks the block that holds this address, not more
  // than kMostInside from its begin, and returns it, with its begin. Returns an empty block if
  // there is none, or if it was marked before. A marked block has no owner any more.
  static constexpr std::uint64_t kMostInside = 32 << 10;
  LiveBlock mark(std::uint64_t address, std::uint64_t* begin);
  // Whether a block begins in [begin, end); *first gets the begin of the first one.
  bool any_in(std::uint64_t begin, std::uint64_t end, std::uint64_t* first, LiveBlock* block) const;
  // Mappings are blocks that can end in other pieces than they began in, so those that cover an
  // address are searched for. The pages on which one begins are noted behind a leaf's items.
  void note_mapping(std::uint64_t begin, bool is_one);
  // The first that begins in [begin, end); and the last that begins before `end`, if it is near.
  // False: none does.
  bool first_mapping(std::uint64_t begin, std::uint64_t end, std::uint64_t* found) const;
  bool last_mapping(std::uint64_t end, std::uint64_t* found) const;
  // Calls visit(begin, bytes) for each mapping of these tables.
  template <typename Visit, typename IsTouched>
  void for_each_table(Visit visit, IsTouched is_touched) const {
    visit(reinterpret_cast<std::uint64_t>(directory_), kDirectoryItems * sizeof(Item*));
    const auto visit_leaf = [&](std::uint64_t, const Item* leaf) {
      visit(reinterpret_cast<std::uint64_t>(leaf), bytes_of_leaf());
    };
    for_each_leaf(visit_leaf, is_touched);
  }
  std::uint64_t least_distance() const { return std::uint64_t{1} << distance_shift_; }

 private:
  struct Item {
    std::uint32_t node_and_bytes[2];  // 0: none
    std::uint32_t owner_and_birth;
  };
  static constexpr std::uint32_t kOwnerMask = (1u << kOwnerBits) - 1;
  static_assert(LiveBlock::kMarkedOwner <= kOwnerMask);
  static constexpr int kNodeBits = 30;
  static constexpr int kPageShift = 12;
  // The highest bit tells that the others count pages.
  static constexpr std::uint64_t kLarge = std::uint64_t{1} << (63 - kNodeBits);
  static constexpr int kAddressBits = 47, kLeafBits = 26;
  static constexpr std::uint64_t kDirectoryItems = std::uint64_t{1} << (kAddressBits - kLeafBits);
  static constexpr std::uint64_t kPagesPerLeaf = std::uint64_t{1} << (kLeafBits - kPageShift);

  template <typename Visit, typename IsTouched>
  void for_each_leaf(Visit visit, IsTouched is_touched) const {
    constexpr std::uint64_t kPerPage = (std::uint64_t{1} << kPageShift) / sizeof(Item*);
    static_assert(kDirectoryItems % kPerPage == 0);
    for (std::uint64_t first = 0; first < kDirectoryItems; first += kPerPage) {
      if (!is_touched(directory_ + first)) continue;
      for (std::uint64_t d = first; d < first + kPerPage; ++d) {
        const Item* leaf = __atomic_load_n(&directory_[d], __ATOMIC_ACQUIRE);
        if (leaf != nullptr) visit(d, leaf);
      }
    }
  }

  std::uint64_t items_per_leaf() const { return std::uint64_t{1} << (kLeafBits - distance_shift_); }
  std::uint64_t index_in_leaf(std::uint64_t address) const {
    return (address & ((std::uint64_t{1} << kLeafBits) - 1)) >> distance_shift_;
  }
  Item* item_of(const void* block) const {
    const auto address = reinterpret_cast<std::uint64_t>(block);
    if (address >> kAddressBits != 0) return nullptr;
    Item* leaf = __atomic_load_n(&directory_[address >> kLeafBits], __ATOMIC_ACQUIRE);
    return leaf != nullptr ? leaf + index_in_leaf(address) : nullptr;
  }
  Item* make_item(const void* block);
  std::uint64_t bytes_of_leaf() const {
    return items_per_leaf() * sizeof(Item) + kPagesPerLeaf / 8;
  }
  // 64 pages' notes; null: no block has begun near them.
  std::uint64_t* notes_of(std::uint64_t page) const;
  static std::uint64_t pack_bytes(std::uint64_t bytes) {
    if (bytes < kLarge) [[likely]]
      return bytes;
    const std::uint64_t pages = bytes >> kPageShift;
    return kLarge | (pages < kLarge ? pages : kLarge - 1);
  }
  static std::uint64_t unpack_bytes(std::uint64_t packed) {
    return packed < kLarge ? packed : (packed - kLarge) << kPageShift;
  }
  static LiveBlock unpack(const Item& item) {
    const std::uint64_t packed =
        item.node_and_bytes[0] | static_cast<std::uint64_t>(item.node_and_bytes[1]) << 32;
    return {static_cast<format::Ref>(packed & ((std::uint64_t{1} << kNodeBits) - 1)) << 1,
            unpack_bytes(packed >> kNodeBits), item.owner_and_birth & kOwnerMask,
            item.owner_and_birth >> kOwnerBits};
  }

  Pages* pages_ = nullptr;
  Item** directory_ = nullptr;
  int distance_shift_ = 5;
};

}  // namespace fbleprof::signal_safe
