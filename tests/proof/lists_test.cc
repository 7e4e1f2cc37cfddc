// The lists of threads' memory, and caches that one thread empties while their owner fills them.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "capture/thread_memory.h"
#include "capture/threads.h"
#include "signal_safe/edge_cache.h"
#include "signal_safe/session.h"
#include "tests/proof/scheduler.h"

namespace fbleprof::proof {
namespace {

using capture::ThreadMemory;
using signal_safe::session;
using signal_safe::Slot;

// An empty profile for the process's session.
void start_session() {
  constexpr std::size_t kFileBytes = 8 << 20;
  alignas(64) static char file[kFileBytes];
  std::memset(file, 0, format::kHeaderBytes);
  auto* header = reinterpret_cast<format::Header*>(file);
  header->used_bytes = format::kHeaderBytes;
  header->header_bytes = format::kHeaderBytes;
  ASSERT_TRUE(session.start(file, kFileBytes, kFileBytes, {}));
  capture::forget_thread_memory();
}

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

// Code is unloaded while a thread caches a call in the same pair of slots: a new one, or one that
// has the other slot and moves.
template <bool IsNew>
struct EmptyWhileFilling {
  static constexpr Slot kUnloaded = {0x1111, 0x2222, nullptr, 0x3333};
  static ThreadMemory& memory() {
    static ThreadMemory* made = nullptr;
    if (!made) {
      start_session();
      made = capture::take_thread_memory();
      made->state.record->flags |= format::kThreadHooked;
    }
    return *made;
  }

  signal_safe::Word context = arch::make_word(7, arch::kNoBlock);
  Slot call = {context ^ 0x401234, 0x405678, nullptr, arch::make_word(8, arch::kNoBlock)};
  Slot* pair;

  EmptyWhileFilling() {
    signal_safe::Cache& cache = memory().state.cache;
    Slot* slot = signal_safe::slot_of(cache, context, call.tag, call.callee);
    pair = slot < signal_safe::other_slot(slot) ? slot : signal_safe::other_slot(slot);
    pair[0] = pair[1] = IsNew ? Slot{} : call;
    *slot = kUnloaded;
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
  }
};

TEST(Lists, CallsOfUnloadedCodeLeaveTheCaches) {
  EXPECT_GT(explore<EmptyWhileFilling<true>>(4), 100u);
  EXPECT_GT(explore<EmptyWhileFilling<false>>(4), 100u);
}

}  // namespace
}  // namespace fbleprof::proof
