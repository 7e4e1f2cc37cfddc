// The hooks themselves, on a recorder without a program: the assembly of the C API and the slow
// path of native hooks, on synthetic stacks.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "arch/trampoline.h"
#include "signal_safe/blocks.h"
#include "signal_safe/enter.h"
#include "signal_safe/live_rule.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using signal_safe::Entry;
using signal_safe::Frame;
using test::Recording;

constexpr std::uint32_t kRoot = Recording::kSpecial + 2;

class Hooks : public testing::Test {
 protected:
  Hooks() { recording.attach(); }

  void name_blocks(std::uint32_t count) {
    auto& code = recording.session.code_map;
    for (std::uint32_t block = 1; block <= count; ++block) {
      code.name_block(block, code.function_with_key(block, format::FunctionKind::kBlock));
    }
  }

  // A call of `callee` by `caller`, whose frame is `depth` frames from the stack's end.
  void call(std::uint32_t caller, std::uint32_t callee, std::uint64_t depth,
            std::uint32_t site = 0) {
    const signal_safe::HookState at{recording.code.hook_of(callee), frame_at(depth) + 8, 0};
    signal_safe::fbleprof_enter_slow(fbleprof_hot.top, frame_at(depth),
                                     recording.code.site_in(caller, site),
                                     recording.code.hook_of(callee), HOOK_NATIVE, &at);
  }
  // The same, for a callee that is rewritten.
  void call_rewritten(std::uint32_t caller, std::uint32_t callee, std::uint64_t depth,
                      std::uint32_t site = 0) {
    Trampoline& trampoline = trampolines[{kRoot, callee}];
    trampoline.function.address = recording.code.hook_of(callee);
    trampoline.first = &trampoline.function;
    const auto hook_return =
        reinterpret_cast<std::uint64_t>(&trampoline.first) + TRAMPOLINE_FUNCTION;
    const signal_safe::HookState at{hook_return, frame_at(depth) + 8, 0};
    signal_safe::fbleprof_enter_slow(fbleprof_hot.top, frame_at(depth),
                                     recording.code.site_in(caller, site), hook_return, HOOK_EXACT,
                                     &at);
  }
  // A tail call of `callee` by `from`, which `caller` has called in this frame.
  void tail_call(std::uint32_t caller, std::uint32_t from, std::uint32_t callee,
                 std::uint64_t depth) {
    Trampoline& trampoline = trampolines[{from, callee}];
    trampoline.function = {recording.code.hook_of(callee), 0, recording.code.hook_of(from)};
    trampoline.first = &trampoline.function;
    const auto hook_return =
        reinterpret_cast<std::uint64_t>(&trampoline.first) + TRAMPOLINE_FUNCTION;
    const signal_safe::HookState at{hook_return, frame_at(depth) + 8, 0};
    signal_safe::fbleprof_enter_slow(fbleprof_hot.top, frame_at(depth),
                                     recording.code.site_in(caller), hook_return, HOOK_TAIL, &at);
  }
  static Frame frame_at(std::uint64_t depth) { return (std::uint64_t{1} << 46) - depth * 64; }

  std::uint32_t function_on_top() {
    const auto& function = *recording.session.arena.at<format::Function>(
        recording.tree().function_of(signal_safe::node_of(recording.thread, fbleprof_hot.top)));
    return static_cast<std::uint32_t>((function.address - recording.code.begin()) /
                                      test::FakeCode::kBytes);
  }

  // The part of a trampoline that the slow path reads.
  struct Trampoline {
    arch::RewrittenFunction* first;
    arch::RewrittenFunction function;
  };

  Recording recording;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Trampoline> trampolines;
};

TEST_F(Hooks, BlocksAreCountedThroughTheCacheAsWithoutIt) {
  constexpr std::uint32_t kBlocks = 200;
  name_blocks(kBlocks);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> expected;
  std::vector<std::uint32_t> stack{kRoot};
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    if (stack.size() > 1 && (stack.size() > 6 || random() % 2 == 0)) {
      fbleprof_leave(stack.back());
      stack.pop_back();
    } else {
      // Many of few, few of many: what fits into the cache, and what does not.
      const std::uint32_t block = 1 + (random() % 4 != 0 ? random() % 5 : random() % kBlocks);
      fbleprof_enter(block);
      ++expected[{stack.back(), block}];
      stack.push_back(block);
    }
  }
  EXPECT_EQ(recording.pairs(), expected);
  EXPECT_EQ(static_cast<std::size_t>(fbleprof_hot.top - recording.thread.main_stack.gate),
            stack.size() - 1);
}

TEST_F(Hooks, CallsBeyondTheShadowStackAreToldAsDeep) {
  Entry* const limit = recording.thread.main_stack.gate + 20;
  recording.thread.main_stack.limit = limit;
  recording.attach();
  for (std::uint32_t depth = 1; depth <= 30; ++depth) call(depth - 1, depth, depth);
  EXPECT_EQ(fbleprof_hot.top, limit);
  EXPECT_EQ(recording.thread.record->deep_calls, 10u);
  EXPECT_EQ(recording.pairs().size(), 20u);
}

// If the stale entry stayed, no call of the leaf would be found in the cache.
TEST_F(Hooks, ACallOfALeafEndsTheStaleEntriesAboveItsCaller) {
  constexpr std::uint32_t kCaller = 1, kEnded = 2, kLeaf = 3;
  call_rewritten(kRoot, kCaller, 1);
  call_rewritten(kCaller, kEnded, 2);
  trampolines[{kRoot, kLeaf}].function.is_leaf = 1;
  call_rewritten(kCaller, kLeaf, 3);
  EXPECT_EQ(function_on_top(), kCaller);
  EXPECT_EQ((recording.pairs()[{kCaller, kLeaf}]), 1u);
  EXPECT_EQ(recording.pairs().count({kEnded, kLeaf}), 0u);
}

// A shadow stack of one page, with `free` bytes of free address space behind it.
struct GrowingShadow {
  explicit GrowingShadow(Recording& recording, std::size_t free) : all(4096 + free + 4096) {
    // Far from other mappings, or the kernel would put the next one into the free space.
    const std::uint64_t wanted = (recording.code.begin() - (32ull << 30)) / 4096 * 4096;
    char* base =
        static_cast<char*>(mmap(reinterpret_cast<void*>(wanted), all, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(base + 4096, free);
    memory.base = base;
    memory.most = 3 * 4096;
    memory.bytes = 4096;
    signal_safe::Stack& stack = recording.thread.main_stack;
    stack.gate = stack.saved_top = reinterpret_cast<Entry*>(base);
    stack.gate[0] = {signal_safe::kNoFrame, signal_safe::kRootGateWord};
    stack.limit = stack.gate + entries(4096);
    stack.memory = &memory;
    recording.attach();
  }
  ~GrowingShadow() { munmap(memory.base, all); }
  static std::uint32_t entries(std::size_t bytes) {
    return static_cast<std::uint32_t>(bytes / sizeof(Entry) - signal_safe::kSlackEntries);
  }
  std::size_t all;
  signal_safe::GrowingMemory memory;
};

TEST_F(Hooks, ShadowStackGrowsWhereItIs) {
  const GrowingShadow shadow(recording, 4 * 4096);
  const std::uint32_t most = GrowingShadow::entries(3 * 4096);
  for (std::uint32_t depth = 1; depth <= most; ++depth) call(depth - 1, depth, depth);
  EXPECT_EQ(recording.thread.record->deep_calls, 0u);
  EXPECT_EQ(fbleprof_hot.top, recording.thread.main_stack.gate + most);
  EXPECT_EQ(fbleprof_hot.limit, recording.thread.main_stack.limit);
  EXPECT_EQ(recording.pairs().size(), most);
  for (std::uint32_t depth = most + 1; depth <= most + 5; ++depth) call(depth - 1, depth, depth);
  EXPECT_EQ(recording.thread.record->deep_calls, 5u);
  EXPECT_EQ(shadow.memory.bytes, 3 * 4096u);
}

TEST_F(Hooks, ShadowStackStopsGrowingBeforeAnotherMapping) {
  const GrowingShadow shadow(recording, 4096);
  const std::uint32_t room = GrowingShadow::entries(2 * 4096);
  for (std::uint32_t depth = 1; depth <= room + 7; ++depth) call(depth - 1, depth, depth);
  EXPECT_EQ(recording.thread.record->deep_calls, 7u);
  EXPECT_EQ(recording.pairs().size(), room);
  EXPECT_EQ(shadow.memory.bytes, 2 * 4096u);
}

TEST_F(Hooks, ShadowStackThatAnotherThreadMadeLargerHasRoom) {
  GrowingShadow shadow(recording, 4 * 4096);
  EXPECT_TRUE(signal_safe::grow(shadow.memory, true));
  EXPECT_TRUE(recording.session.pages.live_on_stock(4096));
  const std::uint32_t most = GrowingShadow::entries(3 * 4096);
  for (std::uint32_t depth = 1; depth <= most; ++depth) call(depth - 1, depth, depth);
  EXPECT_EQ(recording.thread.record->deep_calls, 0u);
}

TEST_F(Hooks, BlockZeroAndUnknownBlocksAreNothing) {
  name_blocks(1);
  fbleprof_enter(1);
  const Entry* top = fbleprof_hot.top;
  fbleprof_enter(0), fbleprof_leave(0), fbleprof_enter(77), fbleprof_leave(77);
  EXPECT_EQ(fbleprof_hot.top, top);
}

// Each hook, with a cache that may grow and with one that has its full size, as in large trees.
struct HookAndCache {
  int hook;
  std::uint64_t mask;
};
class EachHook : public Hooks, public testing::WithParamInterface<HookAndCache> {
 protected:
  EachHook() {
    recording.thread.cache.mask = GetParam().mask;
    recording.attach();
  }
  void call(std::uint32_t caller, std::uint32_t callee, std::uint64_t depth,
            std::uint32_t site = 0) {
    if (GetParam().hook == HOOK_EXACT) {
      call_rewritten(caller, callee, depth, site);
    } else {
      Hooks::call(caller, callee, depth, site);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Of, EachHook,
                         testing::Values(HookAndCache{HOOK_NATIVE, arch::kFirstCacheMask},
                                         HookAndCache{HOOK_NATIVE, arch::kMostCacheMask},
                                         HookAndCache{HOOK_EXACT, arch::kFirstCacheMask},
                                         HookAndCache{HOOK_EXACT, arch::kMostCacheMask}),
                         [](const auto& info) {
                           return std::string(info.param.hook == HOOK_EXACT ? "Rewritten"
                                                                            : "Native") +
                                  (info.param.mask == arch::kMostCacheMask ? "InALargeTree"
                                                                           : "InASmallTree");
                         });

TEST_P(EachHook, CallsFindTheirCaller) {
  call(0, 1, 1);  // main has no entry: the root
  call(1, 2, 2), call(2, 3, 3);
  call(1, 4, 2);  // 2 and 3 have returned
  EXPECT_EQ(recording.pairs(), (std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>{
                                   {{kRoot, 1}, 1}, {{1, 2}, 1}, {{2, 3}, 1}, {{1, 4}, 1}}));
}

TEST_P(EachHook, StaleEntryOfASiblingIsNotTakenForTheCaller) {
  call(0, 1, 1);
  call(1, 2, 2);
  // 1 pushes arguments and calls 3, whose frame lies below that of 2, which has returned.
  call(1, 3, 4);
  EXPECT_EQ(recording.pairs().count({1, 3}), 1u);
  EXPECT_EQ(recording.pairs().count({2, 3}), 0u);
}

using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

TEST_F(Hooks, TailCallTakesOverTheEntryOfTheFunctionThatJumped) {
  call(0, 1, 1);
  const Entry* top = fbleprof_hot.top;
  for (int i = 0; i < 100; ++i) {
    call(1, 2, 2);
    tail_call(1, 2, 3, 2);
    tail_call(1, 3, 4, 2);
    EXPECT_EQ(function_on_top(), 4u);
    EXPECT_EQ(fbleprof_hot.top, top + 1);
    call(4, 5, 3);
  }
  EXPECT_EQ(recording.pairs(),
            (Pairs{{{kRoot, 1}, 1}, {{1, 2}, 100}, {{2, 3}, 100}, {{3, 4}, 100}, {{4, 5}, 100}}));
}

TEST_F(Hooks, TailCallFromAFunctionWithoutEntryIsACall) {
  call(0, 1, 1);
  call(1, 5, 2);          // has returned
  tail_call(1, 2, 3, 2);  // 1 has called 2, which was not counted
  EXPECT_EQ(function_on_top(), 3u);
  EXPECT_EQ(recording.pairs(), (Pairs{{{kRoot, 1}, 1}, {{1, 5}, 1}, {{1, 3}, 1}}));
}

TEST_F(Hooks, CallAfterATailCallIsNoTailCall) {
  call(0, 1, 1);
  call(1, 2, 2), tail_call(1, 2, 3, 2);
  const auto flags = [&] {
    for (const test::ReadNode& node : recording.nodes()) {
      if (node.function == 3) return node.flags;
    }
    return std::uint8_t{0};
  };
  EXPECT_EQ(flags(), format::kEdgeByTailCall);
  call(1, 3, 2);
  EXPECT_EQ(flags(), 0);
  EXPECT_EQ(recording.pairs(), (Pairs{{{kRoot, 1}, 1}, {{1, 2}, 1}, {{1, 3}, 1}, {{2, 3}, 1}}));
}

TEST_P(EachHook, RandomStacksAreFollowedThroughStaleEntries) {
  struct Live {
    std::uint32_t function;
    std::uint64_t depth;
  };
  std::vector<Live> stack{{0, 1}};
  std::mt19937 random(3);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> expected{{{kRoot, 0}, 1}};
  call(100, 0, 1);
  for (int i = 0; i < 300'000; ++i) {
    if (stack.size() > 1 && (stack.size() > 30 || random() % 2 == 0)) {
      stack.pop_back();
      continue;
    }
    // Deeper by one frame, or by some that its caller has pushed.
    const std::uint64_t depth = stack.back().depth + 1 + (random() % 4 == 0 ? random() % 5 : 0);
    std::uint32_t callee = random() % 60;
    // A case that the proof cannot detect: a stale entry of the same function.
    if (callee == stack.back().function) callee = 60 + random() % 3;
    call(stack.back().function, callee, depth, random() % 3);
    ++expected[{stack.back().function, callee}];
    stack.push_back({callee, depth});
    ASSERT_EQ(function_on_top(), callee);
  }
  EXPECT_EQ(recording.pairs(), expected);
}

TEST_P(EachHook, TailCallIsKnownByTheCallThatNamesAnother) {
  call(0, 1, 1);
  recording.function(2);  // has a hook
  const std::uint64_t site = recording.code.site_in(1);
  recording.code.write_call(site, 2);
  call(1, 3, 2);  // by a call of 2, which jumped to 3
  for (const auto& node : recording.nodes()) {
    EXPECT_EQ((node.flags & format::kEdgeByTailCall) != 0, node.function == 3) << node.function;
  }
}

TEST_P(EachHook, FirstCallByAHookIsNoSample) {
  call(0, 1, 1);
  const format::Ref caller = signal_safe::node_of(recording.thread, fbleprof_hot.top);
  recording.tree().enter(recording.guard, caller, recording.function(2), 0, format::kEdgeSampled);
  const auto flags_of_2 = [&] {
    for (const auto& node : recording.nodes()) {
      if (node.function == 2) return node.flags;
    }
    return std::uint8_t{0};
  };
  EXPECT_EQ(flags_of_2(), format::kEdgeSampled);
  call(1, 2, 2), call(1, 2, 2);
  EXPECT_EQ(flags_of_2(), 0);
  EXPECT_EQ(recording.pairs().at({1, 2}), 2u);
}

// More ways than a node's own line names, and recursion, whose ways lead to ancestors.
TEST_P(EachHook, ManyCalleesAndRecursionAreCounted) {
  constexpr std::uint32_t kCallees = 40;
  std::uint32_t contexts = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> expected{{{kRoot, 1}, 1}};
  call(0, 1, 1);
  for (int round = 0; round < 4; ++round) {
    for (std::uint32_t callee = 2; callee < kCallees; ++callee) {
      call(1, callee, 2), call(callee, 1, 3), call(1, callee, 4), call(callee, 1, 5);
      expected[{1, callee}] += 2, expected[{callee, 1}] += 2;
      EXPECT_EQ(function_on_top(), 1u);
    }
    if (round == 0) contexts = recording.tree().size();
  }
  EXPECT_EQ(recording.pairs(), expected);
  EXPECT_EQ(recording.tree().size(), contexts) << "all were made in the first round";
}

TEST_P(EachHook, LeftOutFunctionsHaveTheContextOfTheirCaller) {
  recording.session.arena.at<format::Function>(recording.function(2))->flags |=
      format::kFunctionLeftOut;
  call(0, 1, 1);
  for (int i = 0; i < 3; ++i) {
    call(1, 2, 2), call(2, 3, 3);
    EXPECT_EQ(function_on_top(), 3u);
  }
  EXPECT_EQ(recording.pairs().at({1, 3}), 3u);
  EXPECT_EQ(recording.pairs().count({1, 2}), 0u);
}

TEST_P(EachHook, HooksInterruptedByHooksLoseOneCallAndNothingElse) {
  call(0, 1, 1);
  format::Thread& record = *recording.thread.record;
  {
    signal_safe::BusyGuard guard(recording.thread);  // the slow path is interrupted
    call(1, 2, 2);
  }
  EXPECT_EQ(record.lost_calls, 1u);
  call(1, 2, 2);
  EXPECT_EQ(recording.pairs().at({1, 2}), 1u);
}

TEST_P(EachHook, SignalStackHasItsOwnShadow) {
  std::vector<Entry> shadow(1000);
  shadow[0] = {signal_safe::kNoFrame, signal_safe::kGateWord};
  const std::uint64_t low = 1 << 20;
  recording.thread.main_stack.low = low + (1 << 20);
  recording.thread.signal_stack = {
      low, low + 65536, shadow.data(), shadow.data() + 900, shadow.data(), 0};
  call(0, 1, 1), call(1, 2, 2);
  // A handler on its own stack, whose caller has no hook.
  const signal_safe::HookState at{recording.code.hook_of(5), low + 4096, 0};
  signal_safe::fbleprof_enter_slow(fbleprof_hot.top, low + 4096, 12345, recording.code.hook_of(5),
                                   HOOK_NATIVE, &at);
  EXPECT_EQ(recording.thread.current, &recording.thread.signal_stack);
  call(2, 3, 3);  // back on the thread's own
  EXPECT_EQ(recording.thread.current, &recording.thread.main_stack);
  EXPECT_EQ(recording.pairs(), (std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>{
                                   {{kRoot, 1}, 1}, {{1, 2}, 1}, {{2, 5}, 1}, {{2, 3}, 1}}));
}

TEST_P(EachHook, AHookThatAHandlerInterruptedGoesOnInTheShadowWhereItWas) {
  std::vector<Entry> shadow(1000);
  shadow[0] = {signal_safe::kNoFrame, signal_safe::kGateWord};
  // Above the thread's own stack: by address, all of its entries are dead for the handler.
  const std::uint64_t low = std::uint64_t{1} << 46;
  recording.thread.main_stack.low = low - (1 << 20);
  recording.thread.main_stack.high = low;
  recording.thread.signal_stack = {
      low, low + 65536, shadow.data(), shadow.data() + 900, shadow.data(), 0};
  call(0, 1, 1), call(1, 2, 2);
  Entry* const interrupted = fbleprof_hot.top;
  const signal_safe::HookState at{recording.code.hook_of(5), low + 4096, 0};
  for (int signal = 0; signal < 2; ++signal) {
    signal_safe::fbleprof_enter_slow(fbleprof_hot.top, low + 4096, 12345, recording.code.hook_of(5),
                                     HOOK_NATIVE, &at);
    EXPECT_EQ(recording.thread.current, &recording.thread.signal_stack);
    fbleprof_hot.top = interrupted;
  }
  call(2, 3, 3);
  EXPECT_EQ(recording.pairs(), (std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>{
                                   {{kRoot, 1}, 1}, {{1, 2}, 1}, {{2, 5}, 2}, {{2, 3}, 1}}));
}

int adopted = 0;

TEST_P(EachHook, ForkedChildAsksForItsOwnProfileBeforeItWrites) {
  call(0, 1, 1), call(1, 2, 2);
  adopted = 0;
  recording.session.adopt_forked_child = [](signal_safe::ThreadState*) {
    ++adopted;
    fbleprof_hot = {};
  };
  const auto before = recording.pairs();
  recording.thread.canary->alive = 0;  // as the kernel leaves it in a child
  call(1, 2, 2);
  EXPECT_EQ(adopted, 1);
  EXPECT_EQ(recording.pairs(), before);
}

TEST_F(Hooks, FilterFindsWhatALinearSearchFinds) {
  std::mt19937 random(9);
  std::vector<Entry> entries{{signal_safe::kNoFrame, signal_safe::kRootGateWord}};
  Frame frame = 1 << 30;
  for (int i = 0; i < 500; ++i) {
    frame -= random() % 3 * 16;
    entries.push_back({frame, signal_safe::word_of(128, arch::kNoBlock)});
  }
  for (std::uint64_t sp = frame - 32; sp < (1 << 30) + 64; sp += 8) {
    const Entry* expected = &entries.back();
    while (expected->frame + FRAME_BIAS < sp) --expected;
    ASSERT_EQ(signal_safe::filter_by_address(entries.data(), &entries.back(), sp), expected);
  }
}

TEST(Words, NameEveryContextAndBlockExactly) {
  std::mt19937 random(2);
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint32_t context = random() % arch::kContextLimit;
    const std::uint32_t block = random() % (arch::kNoBlock + 1);
    const arch::Word word = arch::make_word(context, block);
    ASSERT_EQ(arch::context_of(word), context);
    ASSERT_EQ(arch::block_of(word), block);
    ASSERT_FALSE(arch::is_gate_word(word));
    ASSERT_NE(word >> arch::kUpperShift, 0u);
  }
}

TEST_F(Hooks, CacheGrowsWithTheTree) {
  const auto& cache = recording.thread.cache;
  std::uint32_t made = 0;
  // Paths of different functions, each a context.
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    std::uint32_t caller = kRoot;
    for (std::uint64_t depth = 1; depth < 24; ++depth) {
      const auto callee = static_cast<std::uint32_t>(random() % 64);
      call(caller, callee, depth);
      caller = callee;
    }
    if (cache.mask != arch::kFirstCacheMask) break;
    made = recording.tree().size();
  }
  EXPECT_EQ(cache.mask, arch::kMostCacheMask);
  EXPECT_EQ(fbleprof_hot.cache_mask, arch::kMostCacheMask);
  EXPECT_GE(made, 2 * signal_safe::kFirstCacheSlots);
}

// Two calls with equal tag and callee, in one pair of slots, are the same call.
TEST(Words, CacheProvesContextSiteAndCallee) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto context = static_cast<std::uint32_t>(random() % arch::kContextLimit);
    const auto other = context ^ static_cast<std::uint32_t>(random() & arch::kLowerMask);
    if (other == context || other >= arch::kContextLimit) continue;
    const std::uint64_t site = random() >> 17, callee = random() >> 17;
    const arch::Word word = arch::make_word(context, arch::kNoBlock);
    const arch::Word other_word = arch::make_word(other, arch::kNoBlock);
    const std::uint64_t tag = word ^ site;
    const std::uint64_t site_with_same_tag = tag ^ other_word;
    ASSERT_EQ(other_word ^ site_with_same_tag, tag);
    for (const std::uint64_t mask : {arch::kFirstCacheMask, arch::kMostCacheMask}) {
      const std::uint64_t place = arch::slot_offset(word, tag, callee, mask);
      const std::uint64_t other_place = arch::slot_offset(other_word, tag, callee, mask);
      ASSERT_NE(place & ~std::uint64_t{SLOT_BYTES}, other_place & ~std::uint64_t{SLOT_BYTES});
    }
  }
}

}  // namespace
}  // namespace fbleprof
