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

// A call of its own for each number.
Slot call_of(std::uint64_t i) {
  const std::uint64_t mixed = i * 0x9e3779b97f4a7c15u;
  return {mixed, mixed >> 24, nullptr, i};
}

class EdgeCache : public testing::Test, public Observer {
 protected:
  EdgeCache() {
    thread_->session = session_.get();
    thread_->cache.slots = cache_;
  }

  // A hook that interrupts the thread at this moment sees the pair of slots as it is now.
  void before_store(void* at, unsigned) override {
    const auto offset =
        static_cast<std::size_t>(static_cast<char*>(at) - reinterpret_cast<char*>(cache_));
    if (offset >= signal_safe::kFirstCacheSlots * sizeof(Slot)) return;
    for (const Slot& slot : {cache_[offset / sizeof(Slot)], cache_[offset / sizeof(Slot) ^ 1]}) {
      if (slot.tag != 0 && !is_whole(slot)) ++torn_;
    }
    ++stores_;
  }

  // A cache line, as a pair of slots must be.
  struct alignas(2 * sizeof(Slot)) Pair {
    Slot slots[2] = {};
  };
  std::vector<Pair> pairs_{signal_safe::kFirstCacheSlots / 2};
  Slot* const cache_ = pairs_.data()->slots;
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

TEST_F(EdgeCache, ACallAtHomeInItsSlotIsSparedIfTheOtherIsSpare) {
  const Word context = arch::make_word(7, arch::kNoBlock);
  const auto home_of = [&](const Slot& call) {
    return slot_of(thread_->cache, context, call.tag, call.callee);
  };
  const auto insert = [&](const Slot& call) { insert_slot(*thread_, context, call); };
  const auto is_kept = [&](const Slot& call) {
    return find_slot(thread_->cache, context, call.tag, call.callee) != nullptr;
  };
  const Slot first = call_of(1);
  Slot* const home = home_of(first);
  std::vector<Slot> here, there;  // at home in the same slot, and in the other one of the pair
  for (std::uint64_t i = 2; i < 1'000'000; ++i) {
    if (home_of(call_of(i)) == home) here.push_back(call_of(i));
    if (home_of(call_of(i)) == signal_safe::other_slot(home)) there.push_back(call_of(i));
  }
  ASSERT_GE(here.size(), 2u);
  ASSERT_GE(there.size(), 1u);
  insert(first);
  insert(here[0]);  // gets the other slot, which is empty
  EXPECT_TRUE(is_kept(first) && is_kept(here[0]));
  insert(there[0]);  // takes its own slot
  EXPECT_TRUE(is_kept(first) && is_kept(there[0]));
  EXPECT_FALSE(is_kept(here[0]));
  // Both are at home: the new call takes its own slot after some tries.
  int tries = 0;
  for (; tries < 1000 && !is_kept(here[1]); ++tries) insert(here[1]);
  EXPECT_LT(tries, 1000);
  EXPECT_TRUE(is_kept(here[1]) && is_kept(there[0]));
  EXPECT_FALSE(is_kept(first));
}

TEST_F(EdgeCache, ACallInTheOtherSlotMovesToItsOwnWhenItIsInsertedAgain) {
  const Word context = arch::make_word(7, arch::kNoBlock);
  const auto home_of = [&](const Slot& call) {
    return slot_of(thread_->cache, context, call.tag, call.callee);
  };
  const Slot first = call_of(1);
  Slot* const home = home_of(first);
  std::uint64_t i = 2;
  while (i < 1'000'000 && home_of(call_of(i)) != home) ++i;
  const Slot second = call_of(i);
  ASSERT_EQ(home_of(second), home);
  for (const Slot& call : {first, second, second}) insert_slot(*thread_, context, call);
  EXPECT_EQ(home->tag, second.tag);
  EXPECT_EQ(signal_safe::other_slot(home)->tag, 0u);
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
