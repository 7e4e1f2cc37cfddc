// Enters and leaves of Lua's coroutines, also when calls end without a report or memory is short.
#include "adapters/lua_coroutines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_recorder.h"
#include "tests/support/no_resources.h"

namespace fbleprof::adapters {
namespace {

lua_State* state(std::uintptr_t number) { return reinterpret_cast<lua_State*>(number << 8); }
const CallInfo* call(std::uintptr_t number) {
  return reinterpret_cast<const CallInfo*>(number << 4);
}

class LuaCoroutines : public testing::Test {
 protected:
  LuaCoroutines() {
    for (const char* name : {"f", "g", "h"}) recorder_.blocks.push_back({0, name, "", "", 0});
    main_ = coroutines_.switch_to(state(1), true);
    recorder_.events.clear();
  }

  FakeRecorder recorder_;
  // As a thread's: zeroed.
  Coroutines& coroutines_ = *static_cast<Coroutines*>(calloc(1, sizeof(Coroutines)));
  Coroutine* main_ = nullptr;
};

TEST_F(LuaCoroutines, ALeftCallEndsThoseAboveIt) {
  main_->enter(call(1), 1);
  main_->enter(call(2), 2);
  main_->enter(call(3), 3);
  main_->end(call(2));
  EXPECT_EQ(recorder_.take_events(), "enter f\nenter g\nenter h\nleave h\nleave g\n");
  main_->end(call(9));
  EXPECT_EQ(recorder_.take_events(), "") << "a call that was not seen";
  main_->end_above(call(1));
  EXPECT_EQ(recorder_.take_events(), "");
  main_->end_above(call(9));
  EXPECT_EQ(recorder_.take_events(), "leave f\n");
  EXPECT_TRUE(main_->is_empty());
}

TEST_F(LuaCoroutines, DeepCallsHaveRoom) {
  for (std::uintptr_t i = 1; i <= 1000; ++i) main_->enter(call(i), 1);
  EXPECT_EQ(main_->count, 1000u);
  main_->end(call(1));
  EXPECT_EQ(recorder_.events.size(), 2000u);
}

TEST_F(LuaCoroutines, EachHasAContextOfItsOwn) {
  Coroutine* other = coroutines_.switch_to(state(2), true);
  other->enter(call(1), 1);
  EXPECT_EQ(recorder_.take_events(), "switch to 1\nenter f\n");
  EXPECT_EQ(coroutines_.switch_to(state(1), false), main_);
  EXPECT_EQ(recorder_.take_events(), "switch to 0\n");
  EXPECT_EQ(coroutines_.switch_to(state(2), false), other);
  EXPECT_EQ(recorder_.take_events(), "switch to 1\n");
  EXPECT_EQ(coroutines_.current(), other);
}

TEST_F(LuaCoroutines, TheContextOfOneThatEndedIsUsedAgain) {
  coroutines_.switch_to(state(2), true);
  coroutines_.switch_to(state(1), false);
  coroutines_.switch_to(state(3), true);
  EXPECT_EQ(recorder_.take_events(), "switch to 1\nswitch to 0\nswitch to 1\n");
  EXPECT_EQ(recorder_.contexts.size(), 1u);
}

TEST_F(LuaCoroutines, AContextThatCannotBeUsedAgainIsFreed) {
  coroutines_.switch_to(state(2), true);
  coroutines_.switch_to(state(1), false);
  recorder_.resets_contexts = false;
  coroutines_.switch_to(state(3), true);
  EXPECT_EQ(recorder_.contexts, std::set<int>{2});
}

TEST_F(LuaCoroutines, OnlySomeContextsOfEndedOnesAreKept) {
  std::vector<Coroutine*> running;
  for (std::uintptr_t i = 2; i < 102; ++i) {
    running.push_back(coroutines_.switch_to(state(i), true));
    running.back()->enter(call(1), 1);
  }
  EXPECT_EQ(recorder_.contexts.size(), 100u);
  for (std::uintptr_t i = 2; i < 102; ++i) {
    coroutines_.switch_to(state(i), false)->end(call(1));
    coroutines_.switch_to(state(1), false);
  }
  EXPECT_EQ(recorder_.contexts.size(), 64u);
}

TEST_F(LuaCoroutines, ANewOneAtTheAddressOfAnOldOneBeginsEmpty) {
  Coroutine* other = coroutines_.switch_to(state(2), true);
  other->enter(call(1), 1);
  coroutines_.switch_to(state(1), false);
  EXPECT_EQ(coroutines_.switch_to(state(2), true), other);
  EXPECT_TRUE(other->is_empty());
  EXPECT_EQ(recorder_.take_events(), "switch to 1\nenter f\nswitch to 0\nswitch to 1\n");

  other->enter(call(1), 1);
  coroutines_.switch_to(state(1), false);
  recorder_.resets_contexts = false;
  recorder_.has_contexts = false;
  coroutines_.switch_to(state(2), true);
  EXPECT_EQ(other->context, nullptr);
}

TEST_F(LuaCoroutines, ThoseOfAClosedLuaAreForgotten) {
  const void* const closed = &recorder_;
  for (std::uintptr_t i = 2; i < 102; ++i) {
    Coroutine* one = coroutines_.switch_to(state(i), true);
    one->global = i % 2 == 0 ? closed : nullptr;
    one->enter(call(1), 1);
  }
  main_->global = closed;
  Coroutine* const stays = coroutines_.of(state(101));
  coroutines_.switch_to(state(100), false);
  recorder_.take_events();
  coroutines_.forget(closed);
  EXPECT_EQ(recorder_.take_events(), "switch to 0\n");
  EXPECT_EQ(coroutines_.current(), nullptr);
  EXPECT_EQ(coroutines_.of(state(101)), stays);
  EXPECT_EQ(coroutines_.of(state(1)), main_) << "the thread's own stack is still its";
  EXPECT_EQ(coroutines_.of(state(100))->context, nullptr);
  coroutines_.switch_to(state(100), true);
  EXPECT_EQ(recorder_.contexts.size(), 100u) << "a context is used again";

  coroutines_.forget(&coroutines_);
  EXPECT_EQ(coroutines_.current()->state, state(100)) << "nothing was of that Lua";
  coroutines_.switch_to(state(1), false);
  coroutines_.forget(closed);
  EXPECT_EQ(coroutines_.current(), main_);
}

TEST_F(LuaCoroutines, NoContextIsLeftAtAThreadsEnd) {
  for (std::uintptr_t i = 2; i < 102; ++i) {
    coroutines_.switch_to(state(i), true);
    coroutines_.switch_to(state(i + 100), true)->enter(call(1), 1);
  }
  recorder_.take_events();
  coroutines_.free_memory();
  EXPECT_EQ(recorder_.take_events(), "switch to 0\n");
  EXPECT_TRUE(recorder_.contexts.empty());
}

TEST_F(LuaCoroutines, WithoutContextsTheBlocksAreEnteredAgainAtEachSwitch) {
  recorder_.has_contexts = false;
  Coroutine* other = coroutines_.switch_to(state(2), true);
  other->enter(call(1), 1);
  other->enter(call(2), 2);
  EXPECT_EQ(recorder_.take_events(), "enter f\nenter g\n");
  coroutines_.switch_to(state(1), false);
  EXPECT_EQ(recorder_.take_events(), "rewind to 7\nswitch to 0\n");
  coroutines_.switch_to(state(2), false);
  EXPECT_EQ(recorder_.take_events(), "redo f\nredo g\n");
}

TEST_F(LuaCoroutines, ThousandsAreFoundAgain) {
  std::vector<Coroutine*> all;
  for (std::uintptr_t i = 2; i < 3000; ++i) all.push_back(coroutines_.of(state(i)));
  for (std::uintptr_t i = 2; i < 3000; ++i) EXPECT_EQ(coroutines_.of(state(i)), all[i - 2]);
  EXPECT_EQ(coroutines_.of(state(1)), main_);
}

TEST_F(LuaCoroutines, WithoutMemoryTheKnownOnesStayKnown) {
  in_child([this] {
    for (std::uintptr_t i = 2; i < 400; ++i) coroutines_.of(state(i));
    Coroutines& none = *static_cast<Coroutines*>(calloc(1, sizeof(Coroutines)));
    Coroutine *made, *switched, *first, *known;
    {
      const test::NoMemoryLeft shortage;
      made = coroutines_.of(state(1000));
      switched = coroutines_.switch_to(state(1000), true);
      first = none.of(state(1));
      known = coroutines_.of(state(1));
    }
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(switched, nullptr);
    EXPECT_EQ(first, nullptr) << "there is no table";
    EXPECT_EQ(known, main_);
    EXPECT_EQ(coroutines_.current(), main_);
    // As many as there are places, so that the next one makes the table grow.
    for (std::uintptr_t i = 400; i <= 512; ++i) coroutines_.of(state(i));
    {
      const test::NoMemoryLeft shortage;
      known = coroutines_.of(state(2));
    }
    EXPECT_NE(known, nullptr);
  });
}

TEST_F(LuaCoroutines, WithoutMemoryDeeperCallsAreNotEntered) {
  in_child([this] {
    for (std::uintptr_t i = 1; i <= 32; ++i) main_->enter(call(i), 1);
    recorder_.take_events();
    {
      const test::NoMemoryLeft shortage;
      main_->enter(call(33), 1);
    }
    EXPECT_EQ(recorder_.take_events(), "");
    EXPECT_EQ(main_->count, 32u);
  });
}

}  // namespace
}  // namespace fbleprof::adapters
