#include "signal_safe/sampled_blocks.h"

namespace fbleprof::signal_safe {

bool SampledBlocks::start(Pages* pages) {
  // In a forked child the parent's tables exist, but are empty.
  if (filter_ != nullptr) return true;
  if (slots_ == nullptr) slots_ = static_cast<Slot*>(pages->take_wiped(kSlots * sizeof(Slot)));
  if (slots_ == nullptr) return false;
  filter_ = static_cast<std::uint8_t*>(pages->take_wiped(kFilterCounts));
  return filter_ != nullptr;
}

void SampledBlocks::change_filter(std::uint32_t hash, int by) {
  std::uint8_t* count = &filter_[hash & (kFilterCounts - 1)];
  std::uint8_t before = __atomic_load_n(count, __ATOMIC_RELAXED);
  do {
    if (before == kStuck) return;
  } while (!__atomic_compare_exchange_n(count, &before, static_cast<std::uint8_t>(before + by),
                                        true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

bool SampledBlocks::add(const void* block, const SampledBlock& what) {
  const std::uint32_t hash = hash_of(block);
  for (std::uint32_t i = 0; i < kProbe; ++i) {
    Slot& slot = slots_[(hash + i) % kSlots];
    std::uint64_t there = __atomic_load_n(&slot.block, __ATOMIC_RELAXED);
    if (there > kRemoved || !__atomic_compare_exchange_n(&slot.block, &there, kTaken, false,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      continue;
    }
    slot.what = what;
    __atomic_store_n(&slot.block, reinterpret_cast<std::uint64_t>(block), __ATOMIC_RELEASE);
    change_filter(hash, 1);
    return true;
  }
  return false;
}

SampledBlock SampledBlocks::take(const void* block) {
  const std::uint32_t hash = hash_of(block);
  for (std::uint32_t i = 0; i < kProbe; ++i) {
    Slot& slot = slots_[(hash + i) % kSlots];
    const std::uint64_t there = __atomic_load_n(&slot.block, __ATOMIC_ACQUIRE);
    if (there == kFree) return {};
    if (there != reinterpret_cast<std::uint64_t>(block)) continue;
    const SampledBlock found = slot.what;
    __atomic_store_n(&slot.block, kRemoved, __ATOMIC_RELEASE);
    change_filter(hash, -1);
    return found;
  }
  return {};
}

}  // namespace fbleprof::signal_safe
