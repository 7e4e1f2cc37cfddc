#include "signal_safe/live_blocks.h"

namespace fbleprof::signal_safe {

bool LiveBlocks::start(Pages* pages, std::uint32_t least_distance) {
  pages_ = pages;
  distance_shift_ = __builtin_ctz(least_distance);
  // In a forked child the parent's directory exists, but is empty.
  if (directory_ == nullptr) {
    directory_ = static_cast<Item**>(pages->take_wiped(kDirectoryItems * sizeof(Item*)));
  }
  return directory_ != nullptr;
}

LiveBlocks::Item* LiveBlocks::make_item(const void* block) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (address >> kAddressBits != 0) return nullptr;
  const std::uint64_t bytes = bytes_of_leaf();
  auto* made = static_cast<Item*>(pages_->take_wiped(bytes));
  if (made == nullptr) return nullptr;
  Item* there = nullptr;
  if (!__atomic_compare_exchange_n(&directory_[address >> kLeafBits], &there, made, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    pages_->give_back(made, bytes);
  }
  return item_of(block);
}

LiveBlock LiveBlocks::mark(std::uint64_t address, std::uint64_t* begin) {
  // Most pointers into a block point near its start, unless the block is large.
  const std::uint64_t most_steps = kMostInside >> distance_shift_;
  if (address >> kAddressBits != 0) return {};
  Item* leaf = __atomic_load_n(&directory_[address >> kLeafBits], __ATOMIC_ACQUIRE);
  if (leaf == nullptr) return {};
  const std::uint64_t first = index_in_leaf(address);
  for (std::uint64_t step = 0; step <= first && step <= most_steps; ++step) {
    Item& item = leaf[first - step];
    const LiveBlock block = unpack(item);
    if (block.node == 0) continue;
    *begin = ((address >> distance_shift_) - step) << distance_shift_;
    // A block can begin later than its item, by less than the distance.
    if (block.is_marked() || address >= *begin + block.bytes + least_distance()) return {};
    item.owner_and_birth |= LiveBlock::kMarkedOwner;
    return block;
  }
  return {};
}

bool LiveBlocks::any_in(std::uint64_t begin, std::uint64_t end, std::uint64_t* first,
                        LiveBlock* block) const {
  constexpr std::uint64_t kLeafBytes = std::uint64_t{1} << kLeafBits;
  for (std::uint64_t at = begin; at < end && at >> kAddressBits == 0;) {
    const Item* leaf = __atomic_load_n(&directory_[at >> kLeafBits], __ATOMIC_ACQUIRE);
    const std::uint64_t leaf_end = (at / kLeafBytes + 1) * kLeafBytes;
    for (; leaf != nullptr && at < end && at < leaf_end; at += least_distance()) {
      *block = unpack(leaf[index_in_leaf(at)]);
      *first = at;
      if (block->node != 0) return true;
    }
    if (leaf == nullptr) at = leaf_end;
  }
  return false;
}

std::uint64_t* LiveBlocks::notes_of(std::uint64_t page) const {
  Item* leaf = __atomic_load_n(&directory_[page / kPagesPerLeaf], __ATOMIC_ACQUIRE);
  if (leaf == nullptr) return nullptr;
  return reinterpret_cast<std::uint64_t*>(leaf + items_per_leaf()) + page % kPagesPerLeaf / 64;
}

void LiveBlocks::note_mapping(std::uint64_t begin, bool is_one) {
  if (begin >> kAddressBits != 0) return;
  const std::uint64_t page = begin >> kPageShift, bit = std::uint64_t{1} << page % 64;
  std::uint64_t* notes = notes_of(page);
  if (notes == nullptr) return;
  if (is_one) {
    __atomic_fetch_or(notes, bit, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_and(notes, ~bit, __ATOMIC_RELAXED);
  }
}

bool LiveBlocks::first_mapping(std::uint64_t begin, std::uint64_t end, std::uint64_t* found) const {
  constexpr std::uint64_t kLastAddress = (std::uint64_t{1} << kAddressBits) - 1;
  if (end > kLastAddress) end = kLastAddress;
  for (std::uint64_t page = begin >> kPageShift; page << kPageShift < end;) {
    const std::uint64_t* notes = notes_of(page);
    if (notes == nullptr) {
      page = (page / kPagesPerLeaf + 1) * kPagesPerLeaf;
      continue;
    }
    const std::uint64_t later = __atomic_load_n(notes, __ATOMIC_RELAXED) >> page % 64;
    if (later != 0) {
      *found = (page + static_cast<unsigned>(__builtin_ctzll(later))) << kPageShift;
      return *found < end;
    }
    page = (page / 64 + 1) * 64;
  }
  return false;
}

bool LiveBlocks::last_mapping(std::uint64_t end, std::uint64_t* found) const {
  // 256 GiB where no blocks are, 1 GiB where blocks are everywhere.
  constexpr int kMostSteps = 4096;
  if (end >> kAddressBits != 0) return false;
  std::uint64_t after = end >> kPageShift;
  for (int step = 0; after != 0 && step < kMostSteps; ++step) {
    const std::uint64_t page = after - 1;
    const std::uint64_t* notes = notes_of(page);
    if (notes == nullptr) {
      after = page / kPagesPerLeaf * kPagesPerLeaf;
      continue;
    }
    const std::uint64_t earlier = __atomic_load_n(notes, __ATOMIC_RELAXED) << (63 - page % 64);
    if (earlier != 0) {
      *found = (page - static_cast<unsigned>(__builtin_clzll(earlier))) << kPageShift;
      return true;
    }
    after = page / 64 * 64;
  }
  return false;
}

}  // namespace fbleprof::signal_safe
