// A hash map from 64-bit keys to 32-bit values for tables of a million entries: open addressing in
// one array, no erase. Many times faster than std::unordered_map at that size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fbleprof {

class FlatMap {
 public:
  static constexpr std::uint32_t kAbsent = 0xffffffffu;

  explicit FlatMap(std::size_t expected = 0) {
    std::size_t capacity = 16;
    while (capacity * 3 < expected * 4) capacity *= 2;
    slots_.resize(capacity);
  }

  std::size_t size() const { return size_; }

  // The value of `key`, or kAbsent.
  std::uint32_t find(std::uint64_t key) const { return slots_[slot_of(key)].value; }

  // Announces that `key` will be looked up soon.
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[home_of(key)]); }

  // Inserts `value` (not kAbsent) if `key` has none. Returns the value of `key`, and whether it was
  // inserted.
  std::pair<std::uint32_t, bool> insert(std::uint64_t key, std::uint32_t value) {
    std::size_t slot = slot_of(key);
    if (slots_[slot].value != kAbsent) return {slots_[slot].value, false};
    if ((size_ + 1) * 4 > slots_.size() * 3) {
      grow();
      slot = slot_of(key);
    }
    slots_[slot] = {key, value};
    ++size_;
    return {value, true};
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kAbsent;
  };

  std::size_t home_of(std::uint64_t key) const {
    std::uint64_t hash = key * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    return hash & (slots_.size() - 1);
  }

  // The slot that holds `key`, or the free slot where it belongs.
  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = home_of(key);
    while (slots_[slot].value != kAbsent && slots_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != kAbsent) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace fbleprof
