// The context of a point of code, on a stack that the test builds: every frame is 64 bytes, and the
// test writes the code's rules into the thread's cache.
#include "signal_safe/context_at.h"

#include <gtest/gtest.h>

#include <set>

#include "signal_safe/enter.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using signal_safe::FrameRule;
using signal_safe::Reached;
using signal_safe::RuleCache;
using test::Recording;

constexpr std::uint64_t kFrameBytes = 64;

class Contexts : public testing::Test {
 protected:
  Contexts() : Contexts(signal_safe::Options{}) {}
  explicit Contexts(const signal_safe::Options& options) : recording(options) {
    recording.thread.main_stack.low = reinterpret_cast<std::uint64_t>(words_);
    recording.thread.main_stack.high = recording.thread.main_stack.low + sizeof words_;
    recording.attach();
  }

  // A call of a function with a hook, which runs, or of one without.
  void call_hooked(std::uint32_t function) {
    call(function);
    const signal_safe::HookState at{recording.code.hook_of(function), slot() - 48, 0};
    signal_safe::fbleprof_enter_slow(fbleprof_hot.top, slot() - FRAME_BIAS, words_at(slot()),
                                     recording.code.hook_of(function), HOOK_NATIVE, &at);
  }
  void call(std::uint32_t function) {
    const std::uint64_t site = running_.empty() ? 0 : pc();
    running_.push_back(function);
    words_at(slot()) = site;
  }
  void leave() { running_.pop_back(); }

  // The path of the running function's context, without the root.
  std::string context(Reached reached = Reached::kBySignal) {
    arch::MachineState at;
    at.pc = pc(reached);
    at.sp = slot() + 8 - kFrameBytes;
    format::Ref node = signal_safe::context_at(recording.guard, recording.thread, at, reached);
    std::string path;
    for (const auto& nodes = recording.nodes(); node != recording.tree().root();) {
      for (const auto& read : nodes) {
        if (read.ref != node) continue;
        const bool is_sampled = (read.flags & format::kEdgeSampled) != 0;
        path.insert(0, "/" + std::to_string(read.function) + (is_sampled ? "s" : ""));
        node = read.parent;
        break;
      }
    }
    return path;
  }

  std::uint64_t slot() const {
    return recording.thread.main_stack.high - running_.size() * kFrameBytes;
  }
  static std::uint64_t& words_at(std::uint64_t address) {
    return *reinterpret_cast<std::uint64_t*>(address);
  }

  // The point at which the running function's code continues. The slot of its rule, both for the
  // call before it and for the instruction itself, must not be shared with another rule.
  std::uint64_t pc(Reached reached = Reached::kByReturn) {
    const std::uint32_t function = running_.back();
    for (std::uint32_t which = 0;; ++which) {
      const std::uint64_t pc = recording.code.site_in(function, which);
      const std::uint64_t address = pc - (reached == Reached::kByReturn ? 1 : 0);
      FrameRule& rule =
          recording.thread.rules.rules[(address * 0x9e3779b97f4a7c15u >> 40) % RuleCache::kRules];
      if (rule.pc != 0 && rule.pc != address) continue;
      rule.pc = address;
      rule.base =
          with_lost_frame.contains(function) ? FrameRule::Base::kRegister : FrameRule::Base::kSp;
      rule.cfa_offset = kFrameBytes;
      rule.epoch = recording.session.code_map.epoch();
      return pc;
    }
  }

  std::uint32_t block(std::uint32_t number) {
    auto& code = recording.session.code_map;
    code.name_block(number, code.function_with_key(number, format::FunctionKind::kBlock));
    return number;
  }
  void enter_block(std::uint32_t number) {
    // What fbleprof_enter leaves: the entry has the frame of the one below.
    const format::Ref node =
        recording.tree()
            .enter(recording.guard, signal_safe::node_of(recording.thread, fbleprof_hot.top),
                   recording.session.function_of_block(block(number)), 0, 0)
            .to;
    fbleprof_hot.top[1] = {fbleprof_hot.top->frame, signal_safe::word_of(node, number)};
    ++fbleprof_hot.top;
    arch::MachineState at;
    at.pc = pc();
    at.sp = slot() + 8 - kFrameBytes;
    signal_safe::mark_entering_functions(recording.thread, at);
  }

  Recording recording;
  std::set<std::uint32_t> with_lost_frame;  // based on a register that is not known

 private:
  alignas(16) std::uint64_t words_[1 << 16] = {};
  std::vector<std::uint32_t> running_;
};

const std::string kTruncatedSampled =
    std::to_string(Recording::kSpecial + static_cast<int>(format::FunctionKind::kTruncated)) + "s";

TEST_F(Contexts, FramesWithoutHooksAreSampledChildrenOfTheHookedFunction) {
  call_hooked(1), call(20), call(21);
  EXPECT_EQ(context(), "/1/20s/21s");
  EXPECT_EQ(recording.pairs().size(), 1u) << "sampled ways have no calls";
}

TEST_F(Contexts, OwnCodeOfAHookedFunctionIsItsOwn) {
  call_hooked(1), call_hooked(2);
  EXPECT_EQ(context(), "/1/2");
  leave();
  EXPECT_EQ(context(), "/1") << "its callee has returned";
}

TEST_F(Contexts, StackWithoutEntriesIsSampledFromItsStart) {
  call(20), call(21);
  EXPECT_EQ(context(), "/20s/21s");
  call_hooked(1);
  leave();
  EXPECT_EQ(context(), "/20s/21s") << "also if the thread has hooks";
}

TEST_F(Contexts, DeadCalleeIsNotTheContextOfCodeWithoutHooks) {
  call_hooked(1), call(20), call_hooked(2), leave(), leave(), call(21);
  EXPECT_EQ(context(), "/1/21s");
}

TEST_F(Contexts, HookedCallbackStandsBelowItsHookedCaller) {
  call_hooked(1), call(20), call_hooked(2), call(21);
  EXPECT_EQ(context(), "/1/2/21s");
}

TEST_F(Contexts, HookedCallbackThatHasNotRunItsHookIsInItsCountedContext) {
  call_hooked(1), call(20), call_hooked(2), leave(), leave();
  fbleprof_hot.top = recording.thread.main_stack.gate + 1;
  call(20), call(2);
  EXPECT_EQ(context(), "/1/2");
}

TEST_F(Contexts, RecursionWithoutHooksIsFolded) {
  call_hooked(1), call(20);
  for (int i = 0; i < 5; ++i) call(21);
  EXPECT_EQ(context(), "/1/20s/21s/21s");
}

TEST_F(Contexts, LaterCallMakesASampledWayCounted) {
  call_hooked(1), call(2);
  EXPECT_EQ(context(), "/1/2s");
  leave();
  call_hooked(2);
  EXPECT_EQ(context(), "/1/2");
}

TEST_F(Contexts, WalkThatFailsStandsBelowItsEntryUnderTruncated) {
  with_lost_frame = {21};
  call_hooked(1), call(20), call(21), call(22);
  EXPECT_EQ(context(), "/1/" + kTruncatedSampled + "/21s/22s");
}

TEST_F(Contexts, ReturnAddressBelongsToTheCallBefore) {
  call_hooked(1), call(20);
  EXPECT_EQ(context(Reached::kByReturn), "/1/20s");
}

TEST_F(Contexts, BlockHoldsTheFramesUpToTheOneThatEntersBlocks) {
  call(20), call(21);
  call(22), enter_block(7), leave();  // by a helper
  call(23), call(24);
  EXPECT_EQ(context(), "/7/21s/23s/24s") << "20 is marked too, but 21 is newer";
}

TEST_F(Contexts, BlockInAHookedFunctionHoldsItsOwnCode) {
  call_hooked(1), enter_block(7);
  EXPECT_EQ(context(), "/1/7");
  call(20);
  EXPECT_EQ(context(), "/1/7/20s");
}

TEST_F(Contexts, SignalStackStandsBelowWhatWasInterrupted) {
  // No rule leads from the handler to the interrupted frame here: what matters is that the shadow
  // stack is not filtered by an address of another stack.
  call_hooked(1);
  arch::MachineState at;
  at.pc = recording.code.site_in(30);
  at.sp = reinterpret_cast<std::uint64_t>(&at) / 16 * 16;
  recording.thread.signal_stack.low = at.sp - 4096;
  recording.thread.signal_stack.high = at.sp + 8;
  const format::Ref node =
      signal_safe::context_at(recording.guard, recording.thread, at, Reached::kBySignal);
  const auto* handler = recording.tree().node_at(node);
  const auto* truncated = recording.tree().node_at(handler->parent);
  EXPECT_EQ(recording.tree().function_of(truncated->parent), recording.function(1));
}

// A recursion of more frames than a walk without a budget has.
constexpr int kDeep = 4000;

TEST_F(Contexts, StackOfAnyDepthIsWalkedToItsEnd) {
  call(20);
  for (int i = 0; i < kDeep; ++i) call(21);
  call(22);
  EXPECT_EQ(context(), "/20s/21s/21s/22s");
  leave(), leave(), call(23), call(24);
  EXPECT_EQ(context(), "/20s/21s/21s/23s/24s");
}

TEST_F(Contexts, ChangeAtTheOldEndOfADeepStackIsSeen) {
  for (const std::uint32_t outer : {20, 30, 20}) {
    call(outer);
    for (int i = 0; i < kDeep; ++i) call(21);
    EXPECT_EQ(context(), "/" + std::to_string(outer) + "s/21s/21s");
    for (int i = 0; i <= kDeep; ++i) leave();
  }
}

TEST_F(Contexts, ChangeInTheMiddleIsSeenAtOnceInAShallowStackAndSoonInADeepOne) {
  for (const int depth : {200, kDeep}) {
    for (const std::uint32_t middle : {25, 26}) {
      call(20);
      for (int i = 0; i < depth; ++i) call(i == depth / 2 ? middle : i < depth / 2 ? 21 : 27);
      const std::string seen = "/20s/21s/21s/" + std::to_string(middle) + "s/27s/27s";
      std::string path;
      for (int i = 0; i < (depth == kDeep ? kDeep / 256 : 1); ++i) path = context();
      EXPECT_EQ(path, seen);
      for (int i = 0; i <= depth; ++i) leave();
    }
  }
}

TEST_F(Contexts, HookedCalleeOnADeepStackHasItsOwnFrames) {
  call(20);
  for (int i = 0; i < 100; ++i) call(21);
  EXPECT_EQ(context(), "/20s/21s/21s");
  call_hooked(1), call(22);
  EXPECT_EQ(context(), "/1/22s");
  leave(), leave();
  EXPECT_EQ(context(), "/20s/21s/21s");
}

struct ContextsWithoutNative : Contexts {
  static signal_safe::Options options() {
    signal_safe::Options options;
    options.native_below = false;
    return options;
  }
  ContextsWithoutNative() : Contexts(options()) {}
};

TEST_F(ContextsWithoutNative, CodeWithoutHooksBelongsToItsHookedCaller) {
  call_hooked(1), call(20), call_hooked(2), leave(), leave(), call(21);
  EXPECT_EQ(context(), "/1");
}

TEST_F(ContextsWithoutNative, StackWithoutEntriesIsSampledAllTheSame) {
  call(20), call(21);
  EXPECT_EQ(context(), "/20s/21s");
}

}  // namespace
}  // namespace fbleprof
