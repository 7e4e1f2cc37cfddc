// The edge cache: hooks in signal handlers look up slots while they are being filled.
#include "signal_safe/edge_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"
#include "tests/proof/observed.h"

namespace fbleprof::proof {
namespace {

using signal_safe::Session;
using signal_safe::Slot;
using signal_safe::ThreadState;
using signal_safe::Word;

// The tag tells the rest of a slot in these tests.
Slot slot_with(std::uint64_t tag) {
  return {tag, tag ^ 0xc0ffee, reinterpret_cast<std::uint64_t*>(tag ^ 0x5a5a5a), tag * 3};
}
bool is_whole(const Slot& slot) {
  const Slot whole = slot_with(slot.tag);
  return slot.callee == whole.callee && slot.calls == whole.calls && slot.to == whole.to;
}

class EdgeCache : public testing::Test, public Observer {
 protected:
  EdgeCache() : cache_(signal_safe::kFirstCacheSlots) {
    thread_->session = session_.get();
    thread_->cache.slots = cache_.data();
  }

  // A hook that interrupts the thread at this moment sees the pair of slots as it is now.
  void before_store(void* at, unsigned) override {
    const auto offset =
        static_cast<std::size_t>(static_cast<char*>(at) - reinterpret_cast<char*>(cache_.data()));
    if (offset >= cache_.size() * sizeof(Slot)) return;
    for (const Slot& slot : {cache_[offset / sizeof(Slot)], cache_[offset / sizeof(Slot) ^ 1]}) {
      if (slot.tag != 0 && !is_whole(slot)) ++torn_;
    }
    ++stores_;
  }

  std::vector<Slot> cache_;
  std::unique_ptr<Session> session_ = std::make_unique<Session>();
  std::unique_ptr<ThreadState> thread_ = std::make_unique<ThreadState>();
  unsigned stores_ = 0, torn_ = 0;
};

TEST_F(EdgeCache, ASlotMissesWhileItIsFilled) {
  observer = this;
  for (std::uint64_t i = 1; i < 3 * signal_safe::kFirstCacheSlots; ++i) {
    // The second time, the call moves to the front of its pair.
    signal_safe::insert_slot(*thread_, arch::make_word(7, arch::kNoBlock), slot_with(i << 8));
    signal_safe::insert_slot(*thread_, arch::make_word(7, arch::kNoBlock), slot_with(i << 8));
  }
  observer = nullptr;
  EXPECT_GT(stores_, 8 * signal_safe::kFirstCacheSlots);
  EXPECT_EQ(torn_, 0u);
}

TEST_F(EdgeCache, CallsAreFoundByContextAndCallSite) {
  const Word context = arch::make_word(7, arch::kNoBlock);
  const Word to = arch::make_word(8, arch::kNoBlock);
  const std::uint64_t site = 0x401234, callee = 0x405678;
  std::uint64_t calls = 0;
  signal_safe::remember_call(*thread_, context, site, callee, &calls, to);
  const Slot* slot = signal_safe::find_slot(thread_->cache, context, context ^ site, callee);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->calls, &calls);
  EXPECT_EQ(slot->to, to);
}

TEST_F(EdgeCache, NewCallsPushOutOnlyTheOtherSlotOfTheirPair) {
  const Word context = arch::make_word(7, arch::kNoBlock);
  const auto pair_of = [&](const Slot& call) {
    return slot_of(thread_->cache, context, call.tag, call.callee) - cache_.data() &
           ~std::ptrdiff_t{1};
  };
  const auto is_kept = [&](const Slot& call) {
    return find_slot(thread_->cache, context, call.tag, call.callee) != nullptr;
  };
  const Slot frequent = slot_with(1 << 8);
  signal_safe::insert_slot(*thread_, context, frequent);
  std::vector<Slot> others;  // of the same pair
  for (std::uint64_t i = 2; others.size() < 3; ++i) {
    const Slot call = slot_with(i << 8);
    if (pair_of(call) == pair_of(frequent)) others.push_back(call);
  }
  for (const Slot& call : others) {
    signal_safe::insert_slot(*thread_, context, call);
    EXPECT_TRUE(is_kept(frequent));
    EXPECT_TRUE(is_kept(call));
  }
  // Once more: it becomes the first, and the next new call pushes out the one that was first.
  signal_safe::insert_slot(*thread_, context, others[2]);
  signal_safe::insert_slot(*thread_, context, others[0]);
  EXPECT_TRUE(is_kept(others[2]));
  EXPECT_TRUE(is_kept(others[0]));
  EXPECT_FALSE(is_kept(frequent));
}

TEST_F(EdgeCache, TailCallsAreFoundByBothContextsAndTheHook) {
  const Word context = arch::make_word(7, arch::kNoBlock);
  const Word caller = arch::make_word(6, arch::kNoBlock);
  const Word to = arch::make_word(8, arch::kNoBlock);
  const std::uint64_t hook_return = 0x7f0000001234;
  std::uint64_t calls = 0;
  signal_safe::remember_tail_call(*thread_, context, caller, hook_return, &calls, to);
  const Slot* slot = signal_safe::find_slot(thread_->cache, context, context ^ hook_return, caller);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->calls, &calls);
  EXPECT_EQ(slot->to, to);
}

}  // namespace
}  // namespace fbleprof::proof
