// Which entries are live, and what a call names, in the rarer cases: calls of stubs and wrappers,
// parts of functions, stacks that are not known.
#include "signal_safe/live_rule.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "signal_safe/enter.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using format::Ref;
using signal_safe::Entry;

class LiveRule : public testing::Test, protected test::CallsOnStack {
 protected:
  LiveRule() : CallsOnStack({}) {
    know_the_stack();
    recording.attach();
  }
  const signal_safe::ThreadState& thread() const { return recording.thread; }
  const void* start(std::uint32_t function) const {
    return reinterpret_cast<const void*>(recording.code.start_of(function));
  }
};

TEST_F(LiveRule, ACallNamesTheFunctionWhoseFirstByteItLeadsTo) {
  const std::uint64_t site = recording.code.site_in(1);
  EXPECT_EQ(signal_safe::jumped_from(thread(), site), nullptr) << "no direct call";
  recording.code.write_call(site, 2);
  EXPECT_EQ(signal_safe::jumped_from(thread(), site), start(2));
  // Into the middle of a function: not where it begins.
  std::int32_t distance;
  auto* operand = reinterpret_cast<char*>(site - 4);
  std::memcpy(&distance, operand, sizeof distance);
  distance += 8;
  std::memcpy(operand, &distance, sizeof distance);
  EXPECT_EQ(signal_safe::jumped_from(thread(), site), nullptr);
  recording.code.write_call(site, 3);
  recording.session.wrappers.add(recording.code.start_of(3), recording.code.start_of(4));
  EXPECT_EQ(signal_safe::jumped_from(thread(), site), nullptr) << "the wrapper itself";
  recording.code.write_call(site, 4);
  const std::uint8_t stub[] = {0xff, 0x25, 0x00, 0x01, 0x00, 0x00};  // jmp *0x100(%rip)
  std::memcpy(const_cast<void*>(start(4)), stub, sizeof stub);
  EXPECT_EQ(signal_safe::jumped_from(thread(), site), nullptr) << "a stub of the linkage table";
}

TEST_F(LiveRule, ACallOutOfAllModulesNamesNothing) {
  const std::uint64_t site = recording.code.site_in(1);
  auto* call = reinterpret_cast<std::uint8_t*>(site - 5);
  call[0] = 0xe8;
  const std::int32_t far = 1 << 30;
  std::memcpy(call + 1, &far, sizeof far);
  EXPECT_EQ(signal_safe::jumped_from(thread(), site), nullptr);
}

TEST_F(LiveRule, AnInlinedFunctionsHostIsTheFunctionWhoseCodeRuns) {
  call(0, 1, 1), call(1, 2, 2);
  Entry* const top = fbleprof_hot.top;
  const auto host = [&](std::uint32_t body, std::uint32_t function, std::uint64_t depth) {
    return signal_safe::find_host(recording.thread, top, frame_at(depth),
                                  recording.function(function), recording.code.site_in(body));
  };
  EXPECT_EQ(host(5, 5, 2), nullptr) << "it runs its own code";
  EXPECT_EQ(host(2, 5, 2), top);
  EXPECT_EQ(host(1, 5, 3), top - 1) << "an outer one";
  EXPECT_EQ(host(1, 5, 2), top) << "whose frame another one shares";
  EXPECT_EQ(host(60, 5, 2), top) << "a part without a hook, in the frame of the newest entry";
  EXPECT_EQ(host(61, 5, 3), nullptr) << "in no entry's frame";
  EXPECT_EQ(signal_safe::find_host(recording.thread, recording.thread.main_stack.gate, frame_at(1),
                                   recording.function(5), recording.code.site_in(2)),
            nullptr);
}

TEST_F(LiveRule, TheStackIsChangedOnlyToOneThatIsKnown) {
  call(0, 1, 1);
  std::vector<Entry> entries(8);
  static std::uint64_t other[64];
  const auto here = reinterpret_cast<std::uint64_t>(other + 32);
  auto& stack = recording.thread.signal_stack;
  EXPECT_FALSE(signal_safe::switch_stack(recording.thread, frame_at(5), {})) << "it is current";
  EXPECT_FALSE(signal_safe::switch_stack(recording.thread, here, {})) << "nobody told of it";
  stack.low = reinterpret_cast<std::uint64_t>(other);
  stack.high = reinterpret_cast<std::uint64_t>(other + 64);
  EXPECT_FALSE(signal_safe::switch_stack(recording.thread, here, {})) << "it has no entries";
  entries[0] = {signal_safe::kNoFrame, signal_safe::kGateWord};
  stack.gate = stack.saved_top = entries.data();
  stack.limit = entries.data() + 4;
  const Ref interrupted = signal_safe::node_of(recording.thread, fbleprof_hot.top);
  EXPECT_TRUE(signal_safe::switch_stack(recording.thread, here, {}));
  EXPECT_EQ(fbleprof_hot.top, entries.data());
  EXPECT_EQ(stack.base, interrupted);
  EXPECT_TRUE(signal_safe::switch_stack(recording.thread, frame_at(5), {}));
  EXPECT_EQ(signal_safe::node_of(recording.thread, fbleprof_hot.top), interrupted);
}

TEST_F(LiveRule, ABlockAloneIsTheCallerOfWhatItsCodeCalls) {
  recording.session.code_map.name_block(
      1, recording.session.code_map.function_with_key(1, format::FunctionKind::kBlock));
  const auto step = recording.tree().enter(recording.guard, recording.tree().root(),
                                           recording.session.code_map.block(1), 0, 0);
  Entry* const gate = recording.thread.main_stack.gate;
  gate[1] = {gate->frame, signal_safe::word_of(step.to, 1)};
  fbleprof_hot.top = gate + 1;
  const std::uint64_t site = recording.code.site_in(9);
  EXPECT_EQ(signal_safe::prove_caller(recording.thread, gate + 1, frame_at(3), site,
                                      {site, frame_at(3) + 8, 0}),
            gate + 1);
}

}  // namespace
}  // namespace fbleprof
