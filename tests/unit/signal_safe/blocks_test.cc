// Blocks of the C API among entries of hooked functions, in other profiles, where the shadow stack
// ends, and when calls come in odd orders.
#include "signal_safe/blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "signal_safe/enter.h"
#include "signal_safe/profile_switch.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {

namespace signal_safe {
extern "C" void fbleprof_enter_block_slow(Frame frame, std::uint32_t block, const HookState* at);
}

namespace {

using format::Ref;
using test::Recording;

signal_safe::Options with_call_sites() {
  signal_safe::Options options;
  options.call_sites = true;
  return options;
}

class BlocksInOrder : public testing::Test {
 protected:
  explicit BlocksInOrder(const signal_safe::Options& options = {}) : recording(options) {
    auto& code = recording.session.code_map;
    for (std::uint32_t block = 1; block <= 4; ++block) {
      code.name_block(block, code.function_with_key(block, format::FunctionKind::kBlock));
    }
    recording.attach();
  }

  // A hook of `callee`, called by `caller`, whose frame is at a place of the machine stack above
  // all calls of the API that follow.
  void call(std::uint32_t caller, std::uint32_t callee, const std::uint64_t* place) {
    const auto frame = reinterpret_cast<std::uint64_t>(place);
    const signal_safe::HookState at{recording.code.hook_of(callee), frame + 8, 0};
    signal_safe::fbleprof_enter_slow(fbleprof_hot.top, frame, recording.code.site_in(caller),
                                     recording.code.hook_of(callee), HOOK_NATIVE, &at);
  }
  // The function whose frame is at `place` enters a block.
  void enter_in(std::uint32_t function, const std::uint64_t* place, std::uint32_t block) {
    const auto frame = reinterpret_cast<std::uint64_t>(place) - 64;
    const signal_safe::HookState at{recording.code.site_in(function), frame + 8, 0};
    signal_safe::fbleprof_enter_block_slow(frame, block, &at);
  }
  std::uint64_t depth() const {
    return static_cast<std::uint64_t>(fbleprof_hot.top - recording.thread.main_stack.gate);
  }
  std::uint64_t unmatched() const { return recording.thread.record->unmatched; }
  std::uint64_t calls_of(const std::string& way) const {
    const auto ways = recording.ways();
    const auto found = ways.find(way);
    return found == ways.end() ? 0 : found->second;
  }
  void empty_cache() {
    std::memset(recording.thread.cache.slots, 0,
                signal_safe::kMostCacheSlots * sizeof(signal_safe::Slot));
  }
  // As --only and --not mark a block.
  void leave_out(std::uint32_t block) {
    auto* record =
        recording.session.arena.at<format::Function>(recording.session.code_map.block(block));
    record->flags |= format::kFunctionLeftOut | format::kFunctionNotCounted;
  }

  Recording recording;
};

TEST_F(BlocksInOrder, ThatTheFilterLeavesOutHaveTheirCallersContext) {
  leave_out(2);
  fbleprof_enter(1);
  const Ref context = signal_safe::node_of(recording.thread, fbleprof_hot.top);
  for (int i = 0; i < 3; ++i) {
    fbleprof_enter_from(2, 0);
    EXPECT_EQ(signal_safe::node_of(recording.thread, fbleprof_hot.top), context);
    EXPECT_EQ(depth(), 2u) << "it is left by its own number";
    fbleprof_leave(2);
  }
  fbleprof_enter_from(2, 0);
  fbleprof_replace(3);
  EXPECT_EQ(arch::block_of(fbleprof_hot.top->word), 3u);
  fbleprof_leave(3);
  EXPECT_EQ(depth(), 1u);
  EXPECT_EQ(calls_of("/1048578 > /1048578/1"), 1u);
  for (const auto& way : recording.ways()) {
    EXPECT_EQ(way.first.find("/2"), std::string::npos) << way.first;
  }
}

TEST_F(BlocksInOrder, ComeAndGoWhileRecordingIsOffAndAreNotCounted) {
  fbleprof_enter(1);
  const std::uint64_t mark = fbleprof_mark();
  fbleprof_enter(2);
  const Ref context = signal_safe::node_of(recording.thread, fbleprof_hot.top);
  const auto before = recording.ways();
  const std::uint32_t more[] = {2, 0, 3};
  recording.session.recording.store(false);
  fbleprof_enter(3);
  fbleprof_enter_from(4, 0);
  fbleprof_redo(1);
  fbleprof_enter_all(more, 3);
  EXPECT_EQ(depth(), 7u);
  EXPECT_EQ(signal_safe::node_of(recording.thread, fbleprof_hot.top), context);
  fbleprof_replace(4);
  fbleprof_leave(4);
  fbleprof_replace_below(3);
  fbleprof_leave(3);
  EXPECT_EQ(depth(), 5u);
  fbleprof_leave(4);
  EXPECT_EQ(depth(), 3u) << "and what is above it";
  fbleprof_enter(999);
  fbleprof_replace(999);
  fbleprof_leave(999);
  EXPECT_EQ(arch::block_of(fbleprof_hot.top->word), 3u);
  fbleprof_rewind(mark);
  EXPECT_EQ(depth(), 1u);
  fbleprof_replace(2);
  fbleprof_leave_newest();
  EXPECT_EQ(depth(), 0u);
  fbleprof_replace(2);
  fbleprof_leave_newest();
  recording.session.recording.store(true);
  EXPECT_EQ(recording.ways(), before);
  EXPECT_EQ(unmatched(), 0u);
  EXPECT_EQ(recording.thread.record->lost_calls, 0u);
}

TEST_F(BlocksInOrder, OfAFunctionAreNotThoseOfItsCaller) {
  std::uint64_t stack[64] = {};
  call(0, 1, stack + 40);
  enter_in(1, stack + 40, 1);
  call(1, 2, stack + 20);
  enter_in(2, stack + 20, 2);
  fbleprof_leave(1);
  EXPECT_EQ(unmatched(), 1u) << "the caller's";
  EXPECT_EQ(depth(), 4u);
  fbleprof_leave(3);
  EXPECT_EQ(unmatched(), 2u);
  fbleprof_leave(2);
  fbleprof_leave_newest();  // the callee's entry stays on top
  EXPECT_EQ(depth(), 2u);
  fbleprof_leave_newest();
  EXPECT_EQ(unmatched(), 3u);
}

TEST_F(BlocksInOrder, ThatErrorsSkippedAreLeftWithTheNext) {
  std::uint64_t stack[64] = {};
  call(0, 1, stack + 40);
  for (const std::uint32_t block : {1u, 2u, 3u}) enter_in(1, stack + 40, block);
  fbleprof_leave(1);
  EXPECT_EQ(depth(), 1u);
  EXPECT_EQ(unmatched(), 0u);
}

TEST_F(BlocksInOrder, KnownCallsStopAtTheEndOfTheShadowStack) {
  const std::uint32_t all[] = {1, 2};
  // The calls must come from the same places, or else they are not known.
  for (int i = 0; i < 6; ++i) {
    if (i == 4) fbleprof_hot.limit = recording.thread.main_stack.limit = fbleprof_hot.top;
    fbleprof_enter_from(1, 0);
    fbleprof_leave(1);
    fbleprof_enter_all(all, 2);
    fbleprof_leave(2);
    fbleprof_leave(1);
    EXPECT_EQ(depth(), 0u);
  }
  EXPECT_EQ(recording.thread.record->deep_calls, 2u * 3);
}

// In a handler on its own stack, the bottom's context differs from signal to signal.
TEST_F(BlocksInOrder, AtTheBottomOfAHandlersStackAreReplacedWithoutTheCache) {
  recording.thread.main_stack.gate->word = signal_safe::kGateWord;
  for (int i = 0; i < 3; ++i) {
    fbleprof_enter(1);
    fbleprof_replace(2);
    fbleprof_replace_below(3);
    fbleprof_leave(3);
  }
  std::uint64_t tails = 0;
  for (const auto& edge : recording.edges()) {
    if (edge.kind == format::EdgeKind::kTail) tails += edge.calls;
  }
  EXPECT_EQ(tails, 3u);
  EXPECT_EQ((recording.pairs()[{2, 3}]), 3u);
}

TEST_F(BlocksInOrder, ReplacementsAreCountedWithoutTheCacheAsWithIt) {
  fbleprof_enter(1);
  for (int i = 0; i < 4; ++i) {
    fbleprof_enter(2);
    fbleprof_replace(3);
    fbleprof_replace_below(4);
    fbleprof_leave(4);
    if (i % 2 == 1) empty_cache();
  }
  std::uint64_t tails = 0;
  for (const auto& edge : recording.edges()) {
    if (edge.kind == format::EdgeKind::kTail) tails += edge.calls;
  }
  EXPECT_EQ(tails, 4u);
  EXPECT_EQ((recording.pairs()[{3, 4}]), 4u);
}

TEST_F(BlocksInOrder, AReplacementByItsCallerIsACallOfIt) {
  fbleprof_enter(1);
  fbleprof_enter(2);
  fbleprof_replace(1);
  EXPECT_EQ(depth(), 2u);
  fbleprof_leave(1);
  fbleprof_leave(1);
  EXPECT_EQ(depth(), 0u);
  EXPECT_EQ(unmatched(), 0u);
}

TEST_F(BlocksInOrder, InAForkedChildWithoutAProfileNothingHappens) {
  fbleprof_enter(1);
  const auto before = recording.ways();
  recording.session.adopt_forked_child = [](signal_safe::ThreadState*) { fbleprof_hot = {}; };
  recording.thread.canary->alive = 0;
  fbleprof_enter_from(2, 0);
  EXPECT_EQ(fbleprof_hot.top, nullptr);
  EXPECT_EQ(recording.ways(), before);
}

TEST_F(BlocksInOrder, TicksInAFunctionWithoutABlockAreItsEntrys) {
  std::uint64_t stack[64] = {};
  call(0, 1, stack + 40);
  const Ref node = signal_safe::node_of(recording.thread, fbleprof_hot.top);
  recording.tree().values(recording.guard, node);
  {
    const signal_safe::BusyGuard guard(recording.thread);
    fbleprof_tick(5);  // a handler's
  }
  EXPECT_EQ(recording.tree().values_or_root(node)[signal_safe::kTicks], 5u);
}

// The stack's bounds are known, and the API is called on another one.
TEST_F(BlocksInOrder, OnAStackThatIsNotKnownAreBelowTheNewest) {
  recording.thread.main_stack.low = 1 << 20;
  recording.thread.main_stack.high = 2 << 20;
  fbleprof_enter_from(1, 0);
  fbleprof_enter_from(2, 0);
  EXPECT_EQ(depth(), 2u);
  EXPECT_EQ((recording.pairs()[{1, 2}]), 1u);
}

class BlocksByPlace : public BlocksInOrder {
 protected:
  BlocksByPlace() : BlocksInOrder(with_call_sites()) {}
};

TEST_F(BlocksByPlace, AreOneContextForEachLine) {
  fbleprof_enter(1);
  for (const std::uint32_t line : {7u, 9u, 7u, 0u}) {
    fbleprof_enter_from(2, line);
    fbleprof_leave(2);
  }
  int contexts = 0;
  for (const auto& node : recording.nodes()) contexts += node.function == 2;
  EXPECT_EQ(contexts, 3);
  EXPECT_EQ((recording.pairs()[{1, 2}]), 4u);
}

// -- In another profile --

class BlocksInAProfile : public BlocksInOrder {
 protected:
  BlocksInAProfile() { EXPECT_TRUE(other->start(recording.session.trees, 0, 0, links)); }
  void begin() {
    EXPECT_TRUE(signal_safe::begin_profile(recording.guard, recording.thread, fbleprof_hot.top,
                                           &other, other.get(), &record));
  }
  void end() { signal_safe::end_profile(recording.thread, fbleprof_hot.top); }

  std::unique_ptr<signal_safe::CallTree> other = std::make_unique<signal_safe::CallTree>();
  signal_safe::LinkTable::Item links[signal_safe::LinkTable::kFirstItems] = {};
  format::Thread record{};
};

TEST_F(BlocksInAProfile, DoNotEndThoseOfTheOneBefore) {
  fbleprof_enter(1);
  begin();
  const std::uint64_t floor = depth();
  fbleprof_leave(1);
  fbleprof_leave_newest();
  fbleprof_replace(2);
  fbleprof_replace_below(2);
  EXPECT_EQ(depth(), floor);
  EXPECT_EQ(record.unmatched, 4u);
  fbleprof_enter(2);
  fbleprof_replace(3);
  fbleprof_replace_below(4);
  fbleprof_leave(4);
  EXPECT_EQ(depth(), floor);
  end();
  EXPECT_EQ(depth(), 1u);
  fbleprof_leave(1);
  EXPECT_EQ(unmatched(), 0u);
}

TEST_F(BlocksInAProfile, OnAnotherStackReachDownToItsBottom) {
  begin();
  // The profile began on the signal stack, and a jump led back.
  recording.thread.profile_frames[0].stack = &recording.thread.signal_stack;
  fbleprof_enter(2);
  fbleprof_leave(2);
  fbleprof_leave(2);
  EXPECT_EQ(record.unmatched, 1u);
  recording.thread.profile_frames[0].stack = &recording.thread.main_stack;
  end();
}

TEST_F(BlocksInAProfile, AreNestedToABound) {
  int nested = 0;
  std::vector<signal_safe::CallTree> trees(signal_safe::kMostProfiles + 1, *other);
  for (auto& tree : trees) {
    nested += signal_safe::begin_profile(recording.guard, recording.thread, fbleprof_hot.top, &tree,
                                         &tree, &record);
  }
  EXPECT_EQ(nested, static_cast<int>(signal_safe::kMostProfiles));
  while (recording.thread.profiles != 0) end();
  EXPECT_EQ(depth(), 0u);
  fbleprof_hot.limit = recording.thread.main_stack.limit = fbleprof_hot.top;
  EXPECT_FALSE(signal_safe::begin_profile(recording.guard, recording.thread, fbleprof_hot.top,
                                          &other, other.get(), &record));
}

}  // namespace
}  // namespace fbleprof
