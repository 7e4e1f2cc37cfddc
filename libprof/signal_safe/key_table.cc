#include "signal_safe/key_table.h"

namespace fbleprof::signal_safe {

bool KeyTable::start(Pages* pages) {
  for (int p = 0; p < kMostParts && pages_ != nullptr; ++p) {
    pages_->give_back(parts_[p].exchange(nullptr), size_of(p) * sizeof(Item));
  }
  pages_ = pages;
  return part(0) != nullptr;
}

KeyTable::Item* KeyTable::part(int number) {
  Item* items = parts_[number].load(std::memory_order_acquire);
  if (items != nullptr) return items;
  const std::uint64_t bytes = size_of(number) * sizeof(Item);
  auto* made = static_cast<Item*>(pages_->take_table(bytes));
  if (made == nullptr) return parts_[number].load(std::memory_order_acquire);
  if (parts_[number].compare_exchange_strong(items, made, std::memory_order_acq_rel)) return made;
  pages_->give_back(made, bytes);
  return items;
}

KeyTable::Item* KeyTable::place_of(std::uint64_t key) {
  const std::uint64_t hash = key * 0x9e3779b97f4a7c15u;
  for (int p = 0; p < kMostParts; ++p) {
    Item* items = part(p);
    if (items == nullptr) return nullptr;
    const std::uint64_t mask = size_of(p) - 1;
    for (int i = 0; i < kWindow; ++i) {
      Item& item = items[((hash >> 24) + static_cast<std::uint64_t>(i)) & mask];
      std::uint64_t found = item.key.load(std::memory_order_acquire);
      if (found == key) return &item;
      if (found == 0 && item.key.compare_exchange_strong(found, key, std::memory_order_acq_rel)) {
        return &item;
      }
      if (found == key) return &item;
    }
  }
  return nullptr;
}

format::Ref KeyTable::find(std::uint64_t key) const {
  const std::uint64_t hash = key * 0x9e3779b97f4a7c15u;
  for (int p = 0; p < kMostParts; ++p) {
    const Item* items = parts_[p].load(std::memory_order_acquire);
    if (items == nullptr) return 0;
    for (int i = 0; i < kWindow; ++i) {
      const Item& item = items[((hash >> 24) + static_cast<std::uint64_t>(i)) & (size_of(p) - 1)];
      const std::uint64_t found = item.key.load(std::memory_order_acquire);
      if (found == key) return item.record.load(std::memory_order_acquire);
      if (found == 0) return 0;
    }
  }
  return 0;
}

}  // namespace fbleprof::signal_safe
