// The functions that LuaJIT has compiled into others, from traces that the test lays out in memory.
#include "adapters/luajit_traces.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_recorder.h"
#include "luajit_memory.h"
#include "luajit_traces.h"

namespace fbleprof::adapters::luajit {
namespace {

class LuaJitTraces : public testing::Test {
 protected:
  LuaJitTraces() {
    table_.set(3, trace_.address());
    caller_.set_code(3, op_abc(kOpCall, 1, 1, 1));  // goes on at instruction 4, 3 slots below
  }

  void read(Address pc, Address low = 0, Address high = 0) {
    traces_.read(global_.address(), 3, pc, low, high, &frames_);
  }
  // How many functions there are at an offset of the machine code.
  int count_at(std::size_t offset) {
    read(trace_.machine(offset));
    return frames_.count;
  }
  // A snapshot in whose newest frame `callee` was called by `caller`, in the trace's first frame.
  void add_call(std::uint16_t offset) {
    trace_.add_snapshot(offset, 3, {{3, value_of(callee_.closure())}, {4, caller_.code(4)}});
  }

  FakeRecorder recorder_;
  Raw global_{16 * 1024};
  Trace trace_{3};
  TraceTable table_{global_, 4096};
  Script caller_{1}, callee_{5}, inner_{9};
  Traces& traces_ = *static_cast<Traces*>(calloc(1, sizeof(Traces)));
  InlinedFrames frames_;
};

TEST_F(LuaJitTraces, ACallThatWasCompiledIntoItsCallerIsFound) {
  add_call(0);
  read(trace_.machine(8));
  ASSERT_EQ(frames_.count, 1);
  EXPECT_EQ(frames_.frames[0].function, callee_.address());
  EXPECT_EQ(frames_.frames[0].site, caller_.code(4));
  EXPECT_EQ(frames_.below, 0u);
}

TEST_F(LuaJitTraces, CallsAreNewestFirst) {
  trace_.add_snapshot(0, 6,
                      {{0, value_of(caller_.closure())},
                       {3, value_of(callee_.closure())},
                       {4, caller_.code(4)},
                       {6, value_of(inner_.closure())},
                       {7, caller_.code(4)}});
  read(trace_.machine(0));
  ASSERT_EQ(frames_.count, 2);
  EXPECT_EQ(frames_.frames[0].function, inner_.address());
  EXPECT_EQ(frames_.frames[1].function, callee_.address());
  EXPECT_EQ(frames_.below, caller_.address()) << "a tail call replaced the stack's newest function";
}

TEST_F(LuaJitTraces, TheLastSnapshotBeforeTheInstructionCounts) {
  trace_.add_snapshot(0, 0, {});
  trace_.add_snapshot(16, 0, {});
  add_call(32);
  trace_.add_snapshot(64, 0, {});
  trace_.add_snapshot(128, 0, {});
  EXPECT_EQ(count_at(0), 0);
  EXPECT_EQ(count_at(31), 0);
  EXPECT_EQ(count_at(32), 1);
  EXPECT_EQ(count_at(63), 1);
  EXPECT_EQ(count_at(64), 0);
  EXPECT_EQ(count_at(200), 0);
}

TEST_F(LuaJitTraces, ATraceThatCallsCodeIsKnownByTheReturnAddress) {
  add_call(0);
  trace_.add_snapshot(100, 0, {});
  Raw stack(64);
  stack.put(16, trace_.machine(100)).put(24, trace_.machine(200));
  read(1, stack.address(), stack.address() + 64);
  EXPECT_EQ(frames_.count, 1) << "the call is before the address";
  read(1, stack.address(), stack.address() + 16);
  EXPECT_EQ(frames_.count, 0) << "no address of the trace";
  read(1, stack.address(), stack.address() + 8192);
  EXPECT_EQ(frames_.count, 0) << "too far";
  read(1, stack.address(), stack.address() - 64);
  EXPECT_EQ(frames_.count, 0) << "another stack";
  const Edge edge;
  const Address end = reinterpret_cast<Address>(edge.unreadable());
  read(1, end - 64, end + 64);
  EXPECT_EQ(frames_.count, 0);
  read(trace_.machine(Trace::kMachineBytes));
  EXPECT_EQ(frames_.count, 0) << "just behind the code";
  read(trace_.machine(0) - 1);
  EXPECT_EQ(frames_.count, 0);
}

TEST_F(LuaJitTraces, ATraceThatIsNotInTheTableHasNoFunctions) {
  const Edge edge;
  add_call(0);
  table_.set(3, 0);
  EXPECT_EQ(count_at(0), 0);
  table_.set(3, reinterpret_cast<Address>(edge.unreadable()));
  EXPECT_EQ(count_at(0), 0);
  table_.set(3, trace_.address());
  trace_.raw().put(104, std::uint16_t{4});
  EXPECT_EQ(count_at(0), 0) << "another number";
  trace_.raw().put(104, std::uint16_t{3}).put(9, std::uint8_t{kIsTable});
  EXPECT_EQ(count_at(0), 0) << "not a trace";
  trace_.raw().put(9, std::uint8_t{kIsTrace});
  table_.set_size(3);
  EXPECT_EQ(count_at(0), 0) << "the number is beyond the table";
  table_.set_size(100000);
  EXPECT_EQ(count_at(0), 0) << "no table is so large";
  table_.set_size(16);
  EXPECT_EQ(count_at(0), 1);
}

TEST_F(LuaJitTraces, TheTableIsLookedForOnce) {
  add_call(0);
  EXPECT_EQ(count_at(0), 1);
  table_.forget();
  TraceTable elsewhere(global_, 512);
  elsewhere.set(3, trace_.address());
  EXPECT_EQ(count_at(0), 0) << "of this Lua";
  Raw other_global(16 * 1024);
  TraceTable others(other_global, 256);
  others.set(3, trace_.address());
  traces_.read(other_global.address(), 3, trace_.machine(0), 0, 0, &frames_);
  EXPECT_EQ(frames_.count, 1) << "another Lua";
}

TEST_F(LuaJitTraces, ATraceWithoutSnapshotsHasNoFunctions) { EXPECT_EQ(count_at(0), 0); }

TEST_F(LuaJitTraces, SnapshotsThatCannotBeReadHaveNoFunctions) {
  const Edge edge;
  add_call(0);
  trace_.raw().put(48, edge.unreadable());
  EXPECT_EQ(count_at(0), 0);
  trace_.raw().put(10, std::uint16_t{9});
  EXPECT_EQ(count_at(0), 0) << "one of several";
  trace_.raw()
      .put(10, std::uint16_t{1})
      .put(48, trace_.snapshots().address())
      .put(56, edge.unreadable());
  EXPECT_EQ(count_at(0), 0) << "its map";
}

TEST_F(LuaJitTraces, ValuesThatAreNoConstantsAreUnknown) {
  // The function is computed, or its constant is outside of the trace's.
  for (const std::uint16_t reference : {0x8001, Trace::kFirstConstant - 1, 0}) {
    Trace trace(3);
    trace.add_snapshot(0, 3, {{3, 0}, {4, caller_.code(4)}});
    trace.add_snapshot(1, 3, {});
    table_.set(3, trace.address());
    read(trace.machine(0));
    EXPECT_EQ(frames_.count, 0) << "no function";
    trace.raw().put(10, std::uint16_t{1});
    const auto map = trace.raw().get<Address>(56);
    const std::uint32_t entry = std::uint32_t{3} << 24 | reference;
    std::memcpy(reinterpret_cast<void*>(map), &entry, sizeof entry);
    read(trace.machine(0));
    EXPECT_EQ(frames_.count, 0) << reference;
  }
  // The link is unknown.
  trace_.add_snapshot(0, 3, {{3, value_of(callee_.closure())}});
  EXPECT_EQ(count_at(0), 0);
}

TEST_F(LuaJitTraces, ConstantsThatCannotBeReadAreUnknown) {
  const Edge edge;
  add_call(0);
  trace_.raw().put(32,
                   reinterpret_cast<Address>(edge.unreadable()) - (Trace::kFirstConstant + 1) * 8);
  EXPECT_EQ(count_at(0), 0);
}

TEST_F(LuaJitTraces, FramesBelowTheTracesFirstAreLeftOut) {
  caller_.set_code(3, op_abc(kOpCall, 9, 1, 1));
  add_call(0);
  EXPECT_EQ(count_at(0), 0);
}

TEST_F(LuaJitTraces, AFunctionThatNoLuaCodeCalledHasNoSite) {
  constexpr std::uint64_t kProtected = 3 * 8 | 6;
  trace_.add_snapshot(0, 3, {{3, value_of(callee_.closure())}, {4, kProtected}});
  ASSERT_EQ(count_at(0), 1);
  EXPECT_EQ(frames_.frames[0].site, 0u);
}

TEST_F(LuaJitTraces, AFunctionWithVariableArgumentsIsThereOnce) {
  constexpr std::uint64_t kVarArgs = 2 * 8 | 3;
  trace_.add_snapshot(0, 5,
                      {{3, value_of(callee_.closure())},
                       {4, caller_.code(4)},
                       {5, value_of(callee_.closure())},
                       {6, kVarArgs}});
  EXPECT_EQ(count_at(0), 1);
}

TEST_F(LuaJitTraces, OfManyFunctionsTheNewestAreFound) {
  caller_.set_code(3, op_abc(kOpCall, 0, 1, 1));
  std::vector<std::pair<std::uint8_t, std::uint64_t>> slots;
  for (std::uint8_t slot = 2; slot <= 80; slot = static_cast<std::uint8_t>(slot + 2)) {
    slots.emplace_back(slot, value_of(callee_.closure()));
    slots.emplace_back(slot + 1, caller_.code(4));
  }
  trace_.add_snapshot(0, 80, slots);
  EXPECT_EQ(count_at(0), InlinedFrames::kMost);
}

}  // namespace
}  // namespace fbleprof::adapters::luajit
