// The sampled blocks that are allocated.
//
// Few blocks are sampled, but all are freed. So a filter comes first: a count for each of 64 Ki
// hashes, which is 0 for nearly all freed blocks. The table behind it uses open addressing; a block
// is in one of the kProbe slots from its place on, or not in the table.
//
// No lock: a slot is taken with one compare-and-swap, and only the owner of a block searches for
// it. The kernel wipes the tables in a forked child. Any thread, hooks included.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

struct SampledBlock {
  format::Ref node = 0;     // 0: there is no such block
  std::uint32_t owner = 0;  // as in LiveBlock
  std::uint32_t birth = 0;
  std::uint64_t count = 0, bytes = 0;  // the amounts that it stands for
};

class SampledBlocks {
 public:
  // False: there is no memory.
  bool start(Pages* pages);
  bool is_on() const { return filter_ != nullptr; }

  // False: the table is full near the block's place.
  bool add(const void* block, const SampledBlock& what);

  bool may_hold(const void* block) const {
    return __atomic_load_n(&filter_[hash_of(block) & (kFilterCounts - 1)], __ATOMIC_RELAXED) != 0;
  }
  SampledBlock take(const void* block);

  // Calls visit(block) for each.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      if (__atomic_load_n(&slots_[i].block, __ATOMIC_ACQUIRE) > kTaken) visit(slots_[i].what);
    }
  }

 private:
  static constexpr std::uint32_t kSlots = 1u << 18, kFilterCounts = 1u << 16, kProbe = 64;
  static constexpr std::uint64_t kFree = 0, kRemoved = 1, kTaken = 2;  // not addresses of blocks
  static constexpr std::uint8_t kStuck = 255;  // a count that reaches this stays

  struct Slot {
    std::uint64_t block;
    SampledBlock what;
  };
  static std::uint32_t hash_of(const void* block) {
    return static_cast<std::uint32_t>(
        (reinterpret_cast<std::uint64_t>(block) >> 3) * 0x9e3779b97f4a7c15u >> 36);
  }
  void change_filter(std::uint32_t hash, int by);

  std::uint8_t* filter_ = nullptr;
  Slot* slots_ = nullptr;
};

}  // namespace fbleprof::signal_safe
