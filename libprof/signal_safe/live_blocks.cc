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
  const std::uint64_t bytes = items_per_leaf() * sizeof(Item);
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
  constexpr std::uint64_t kMostSteps = 1 << 12;
  if (address >> kAddressBits != 0) return {};
  Item* leaf = __atomic_load_n(&directory_[address >> kLeafBits], __ATOMIC_ACQUIRE);
  if (leaf == nullptr) return {};
  const std::uint64_t first = index_in_leaf(address);
  for (std::uint64_t step = 0; step <= first && step < kMostSteps; ++step) {
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

}  // namespace fbleprof::signal_safe
