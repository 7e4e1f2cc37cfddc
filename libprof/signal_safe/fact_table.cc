#include "signal_safe/fact_table.h"

namespace fbleprof::signal_safe {

using format::Ref;

bool FactTable::start(Pages* pages) {
  for (int i = 0; i < part_count_; ++i) {
    pages_->give_back(parts_[i].items, (std::uint64_t{parts_[i].mask} + 1) * sizeof(Item));
  }
  pages_ = pages;
  part_count_ = 0;
  count_.store(0, std::memory_order_relaxed);
  growing_.store(false, std::memory_order_relaxed);
  auto* items = static_cast<Item*>(pages->take(kFirstItems * sizeof(Item)));
  if (items == nullptr) return false;
  parts_[part_count_++] = {items, kFirstItems - 1};
  part_.store(&parts_[0], std::memory_order_release);
  return true;
}

bool FactTable::put(const Part& part, std::uint64_t key, Ref function, bool* is_new) {
  std::uint32_t i = home(key) & part.mask;
  for (int probes = 0; probes < kMostProbes; ++probes, i = (i + 1) & part.mask) {
    Item& item = part.items[i];
    std::uint64_t found = item.key.load(std::memory_order_relaxed);
    if (found == 0 && item.key.compare_exchange_strong(found, key, std::memory_order_relaxed)) {
      found = key;
      *is_new = true;
    }
    if (found != key) continue;
    item.function.store(function, std::memory_order_release);
    return true;
  }
  return false;
}

void FactTable::add(std::uint64_t key, Ref function) {
  const Part* part = part_.load(std::memory_order_acquire);
  if (part == nullptr) return;
  bool is_new = false;
  const bool has_place = put(*part, key, function, &is_new);
  if (is_new) count_.fetch_add(1, std::memory_order_relaxed);
  if (!has_place || count_.load(std::memory_order_relaxed) > part->mask / 2) grow(part);
}

void FactTable::grow(const Part* from) {
  // Another thread, or a handler of this one, does not grow the table meanwhile.
  if (growing_.exchange(true, std::memory_order_acquire)) return;
  const std::uint64_t items = (std::uint64_t{from->mask} + 1) * 2;
  Item* memory = part_.load(std::memory_order_relaxed) == from && part_count_ < kMostParts
                     ? static_cast<Item*>(pages_->take_table(items * sizeof(Item)))
                     : nullptr;
  if (memory != nullptr) {
    const std::uint32_t generation = generation_.load(std::memory_order_seq_cst);
    Part& part = parts_[part_count_++];
    part = {memory, static_cast<std::uint32_t>(items - 1)};
    std::uint32_t count = 0;
    for (std::uint64_t i = 0; i <= from->mask; ++i) {
      const std::uint64_t key = from->items[i].key.load(std::memory_order_relaxed);
      const Ref function = from->items[i].function.load(std::memory_order_acquire);
      bool is_new = false;
      if (key != 0 && function != 0) put(part, key, function, &is_new);
      count += is_new;
    }
    count_.store(count, std::memory_order_relaxed);
    part_.store(&part, std::memory_order_seq_cst);
    // If anything was forgotten during the copy, forget everything.
    if (generation_.load(std::memory_order_seq_cst) != generation) {
      for (std::uint64_t i = 0; i <= part.mask; ++i) {
        memory[i].function.store(0, std::memory_order_release);
      }
    }
  }
  growing_.store(false, std::memory_order_release);
}

}  // namespace fbleprof::signal_safe
