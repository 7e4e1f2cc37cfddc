// The lists of threads' memory, and caches that one thread empties while their owner fills them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "capture/thread_memory.h"
#include "capture/threads.h"
#include "signal_safe/edge_cache.h"
#include "signal_safe/session.h"
#include "tests/proof/empty_session.h"
#include "tests/proof/scheduler.h"

namespace fbleprof::proof {
namespace {

using capture::ThreadMemory;
using signal_safe::session;
using signal_safe::Slot;

// Two pieces of memory that threads left. Their states are not looked at: they have a record.
struct FreeMemory {
  static constexpr int kPieces = 2;
  static std::vector<ThreadMemory*>& pieces() {
    static std::vector<ThreadMemory*> made;
    if (made.empty()) {
      start_session();
      for (int i = 0; i < kPieces; ++i) made.push_back(capture::take_thread_memory());
    }
    return made;
  }

  ThreadMemory* held[3] = {};
  bool is_shared = false;

  FreeMemory() {
    const auto& all = pieces();
    capture::forget_thread_memory();
    for (ThreadMemory* memory : all) {
      memory->next_free = nullptr;
      capture::give_back(memory);
    }
  }
  void take(int place) {
    ThreadMemory* memory = capture::take_thread_memory();
    for (const ThreadMemory* other : held) is_shared |= other == memory;
    held[place] = memory;
  }
  void leave(int place) {
    ThreadMemory* memory = held[place];
    held[place] = nullptr;
    capture::give_back(memory);
  }
  // If changes were not counted, a thread that was delayed while it takes the first piece would put
  // the second one back on top: meanwhile both are taken, and the first one comes back.
  void first() {
    take(0);
    leave(0);
  }
  void second() {
    take(1);
    take(2);
    leave(1);
  }
  void check() {
    ASSERT_FALSE(is_shared) << "two threads have one piece";
    // held[2] is not free, nor is a piece twice: the list ends.
    int free = 0;
    for (const ThreadMemory* memory = capture::take_thread_memory(); memory && free < 9; ++free) {
      ASSERT_NE(memory, held[2]) << "a piece is free that a thread has";
      memory = memory->next_free;
    }
    ASSERT_LE(free, kPieces);
  }
};

TEST(Lists, APieceOfMemoryHasOneOwner) { EXPECT_GT(explore<FreeMemory>(3), 100u); }

// Two threads start while a handler walks through the list of all.
struct NewMemory {
  ThreadMemory *one = nullptr, *two = nullptr;
  NewMemory() { start_session(); }
  void watch(Scheduler& scheduler) {
    scheduler.look = [] {
      for (const ThreadMemory* memory = capture::newest_thread_memory(); memory;
           memory = memory->next_all) {
        ASSERT_NE(memory->state.canary, nullptr);
        ASSERT_NE(memory->state.record, nullptr);
        ASSERT_EQ(memory->state.session, &session);
        ASSERT_NE(memory->state.tree.root(), 0u);
      }
    };
  }
  void first() { one = capture::take_thread_memory(); }
  void second() { two = capture::take_thread_memory(); }
  void check() {
    ASSERT_NE(one, nullptr);
    ASSERT_NE(two, nullptr);
    ASSERT_NE(one, two);
    int listed = 0;
    for (const ThreadMemory* memory = capture::newest_thread_memory(); memory;
         memory = memory->next_all) {
      listed += memory == one || memory == two;
    }
    ASSERT_EQ(listed, 2) << "a thread is not in the list";
  }
};

TEST(Lists, ANewThreadIsSeenWhole) { EXPECT_GT(explore<NewMemory>(1), 50u); }

// The one thread of a session.
ThreadMemory& memory() {
  static ThreadMemory* made = nullptr;
  if (!made) {
    start_session();
    made = capture::take_thread_memory();
  }
  return *made;
}

// Code is unloaded while a thread caches a call in the same pair of slots: a new one, or one that
// has the other slot and moves.
template <bool IsNew>
struct EmptyWhileFilling {
  static constexpr Slot kUnloaded = {0x1111, 0x2222, nullptr, 0x3333};
  signal_safe::Word context = arch::make_word(7, arch::kNoBlock);
  Slot call = {context ^ 0x401234, 0x405678, nullptr, arch::make_word(8, arch::kNoBlock)};
  Slot* pair;

  EmptyWhileFilling() {
    signal_safe::Cache& cache = memory().state.cache;
    Slot* slot = signal_safe::slot_of(cache, context, call.tag, call.callee);
    pair = slot < signal_safe::other_slot(slot) ? slot : signal_safe::other_slot(slot);
    pair[0] = pair[1] = IsNew ? Slot{} : call;
    signal_safe::fill_slot(memory().state, slot, kUnloaded);
  }
  void watch(Scheduler& scheduler) {
    scheduler.shared = pair;
    scheduler.shared_bytes = 2 * sizeof *pair;
  }
  void first() { signal_safe::insert_slot(memory().state, context, call); }
  void second() { capture::forget_code(); }
  void check() {
    for (const Slot* slot : {&pair[0], &pair[1]}) {
      ASSERT_NE(slot->tag, kUnloaded.tag) << "a call of code that is gone would be found";
      ASSERT_TRUE(slot->tag != call.tag || slot->to == call.to);
    }
    capture::forget_code();
    ASSERT_TRUE(pair[0].tag == 0 && pair[1].tag == 0) << "a filled page lost its mark";
  }
};

TEST(Lists, CallsOfUnloadedCodeLeaveTheCaches) {
  EXPECT_GT(explore<EmptyWhileFilling<true>>(4), 100u);
  EXPECT_GT(explore<EmptyWhileFilling<false>>(4), 100u);
}

// Two threads unload code: what the first of them empties is not yet empty when the second comes.
struct EmptyTwice {
  EmptyWhileFilling<true> filled;
  Slot* const pair = filled.pair;

  void watch(Scheduler& scheduler) { filled.watch(scheduler); }
  void empty() const {
    capture::forget_code();
    ASSERT_TRUE(pair[0].tag == 0 && pair[1].tag == 0) << "another thread was to empty it";
  }
  void first() { empty(); }
  void second() { empty(); }
  void check() { ASSERT_EQ(capture::forget_code(), 0u); }
};

TEST(Lists, EachThatUnloadsCodeLeavesTheCachesEmpty) { EXPECT_GT(explore<EmptyTwice>(4), 100u); }

// Threads that sleep, or have ended, cost an unloading nothing once it was done.
TEST(Lists, OnlyPagesThatWereFilledSinceAreLookedThrough) {
  start_session();
  constexpr unsigned kThreads = 20;
  std::vector<ThreadMemory*> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.push_back(capture::take_thread_memory());
  const auto call = [](ThreadMemory* thread, std::uint64_t number) {
    const signal_safe::Word context = arch::make_word(7, arch::kNoBlock);
    const Slot slot = {context ^ number << 8, 0x405678, nullptr, context};
    signal_safe::insert_slot(thread->state, context, slot);
    return find_slot(thread->state.cache, context, slot.tag, slot.callee) != nullptr;
  };
  EXPECT_EQ(capture::forget_code(), 0u) << "no thread has called anything";
  for (ThreadMemory* thread : threads) EXPECT_TRUE(call(thread, 1));
  EXPECT_EQ(capture::forget_code(), kThreads);
  EXPECT_EQ(capture::forget_code(), 0u);
  // One more call; then as many as there are pages in a cache that grows meanwhile.
  EXPECT_TRUE(call(threads[3], 1));
  EXPECT_EQ(capture::forget_code(), 1u);
  constexpr std::uint64_t kCalls = 1 << 16, kAllPages = sizeof signal_safe::FilledPages{}.pages;
  for (std::uint64_t i = 1; i <= kCalls; ++i) call(threads[5], i);
  threads[5]->state.cache.mask = arch::kMostCacheMask;
  for (std::uint64_t i = 1; i <= kCalls; ++i) call(threads[5], i);
  EXPECT_EQ(capture::forget_code(), kAllPages);
  const Slot* slots = threads[5]->state.cache.slots;
  EXPECT_TRUE(std::all_of(slots, slots + signal_safe::kMostCacheSlots,
                          [](const Slot& slot) { return slot.tag == 0; }));
  EXPECT_EQ(capture::forget_code(), 0u);
}

}  // namespace
}  // namespace fbleprof::proof
