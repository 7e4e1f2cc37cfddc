// The handler's reader of LuaJIT's stacks, on threads that the test lays out in memory.
#include "adapters/luajit_stack.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fake_lua.h"
#include "fake_recorder.h"
#include "luajit_memory.h"
#include "luajit_traces.h"

namespace fbleprof::adapters {

using namespace luajit;  // NOLINT: all of this file is about its memory

namespace {

constexpr std::size_t kMainInGlobal = 64, kRunningInGlobal = 128;
constexpr int kRbp = 10, kRdx = 12, kRsp = 15, kRip = 16;
constexpr std::int32_t kInterpreter = -1, kCCode = -2;

// The interpreter's frames on the machine stack, newest first.
class MachineStack {
 public:
  MachineStack() : raw_(16 * 80) {}
  Address frame(std::size_t number) { return raw_.address() + 80 * number; }
  void set(std::size_t number, Address thread, Address previous) {
    raw_.put(80 * number + 16, thread).put(80 * number + 32, previous);
  }

 private:
  Raw raw_;
};

class Thread {
 public:
  Thread(Raw& global, Address frame) {
    raw().header.kind = kIsThread;
    raw().global = global.address();
    raw().stack = slots_.address();
    raw().stack_end = slots_.address() + 8 * 1000;
    raw().base = slots_.address() + 16;
    raw().machine_frame = frame | 1;
  }
  RawThread& raw() { return *reinterpret_cast<RawThread*>(state_.at()); }
  lua_State* state() { return reinterpret_cast<lua_State*>(state_.at()); }
  Address address() { return state_.address(); }
  Raw& slots() { return slots_; }
  std::size_t link() const { return link_; }  // the newest frame's

  // A frame whose link has this type and is so many slots above the caller's.
  void push(Raw& function, std::uint64_t type, std::size_t distance = 2) {
    link_ += distance;
    put(function, distance * 8 | type);
  }
  // A call from the instruction before `site`, which calls what is in a slot of the caller.
  void push_from_lua(Raw& function, Address site, std::size_t slot) {
    link_ += 2 + slot;
    put(function, site);
  }

 private:
  void put(Raw& function, std::uint64_t link) {
    slots_.put(8 * (link_ - 1), value_of(function)).put(8 * link_, link);
    raw().base = slots_.address() + 8 * (link_ + 1);
  }

  Raw state_, slots_{8 * 1024};
  std::size_t link_ = 1;
};

constexpr std::uint64_t kFromC = 1, kContinuation = 2, kVarArgs = 3, kProtected = 6;

class LuaJitStacks : public testing::Test {
 protected:
  LuaJitStacks() {
    set_globals(global_, main_.address(), main_.address(), kCCode);
    machine_.set(0, main_.address(), 0);
    prepare_check();
    EXPECT_EQ(find_loop(main_.state(), &stack_), loop_);
    end_check();
    stack_.add(main_.state());
    script_.set_code(3, op_abc(kOpCall, 1, 1, 1));
    script_.prototype().header.more = 8;
  }

  static void set_globals(Raw& global, Address main, Address running, std::int32_t state) {
    global.put(kMainInGlobal - 8, state)
        .put(kMainInGlobal, main)
        .put(kRunningInGlobal, running)
        .put(kRunningInGlobal + 8, Address{0});
  }

  // The line of the check calls `f`, in a coroutine.
  void prepare_check() {
    checked_ = std::make_unique<Thread>(global_, machine_.frame(0));
    checked_->push(line_.closure(), kFromC);
    checked_->slots().put(8 * (checked_->link() + 1), value_of(look_.closure()));
    checked_->push_from_lua(look_.closure(), line_.code(3), 1);
    line_.prototype().variables = reinterpret_cast<Address>(kVariables);
    set_globals(global_, main_.address(), checked_->address(), kCCode);
    LuaLevel ours, line;
    line.function = LuaValue::function(line_.closure().at());
    lua_.levels = {ours, line};
    lua_.new_thread = checked_->state();
    recorder_.callers = {{this, loop_}};
  }
  void end_check() { set_globals(global_, main_.address(), main_.address(), kInterpreter); }
  bool is_loop_known() { return find_loop(main_.state(), &stack_) != nullptr; }

  // "newest older ...", then "?" if more cannot be read.
  std::string read() {
    alignas(8) char reading[128] = {};
    std::string all;
    for (int i = 0; i < 100; ++i) {
      fbleprof_frame frame;
      const int result = stack_.read(reading, &frame);
      if (result < 0) return all + "?";
      if (result == 0) return all;
      if (!all.empty()) all += " ";
      all += short_name(frame.block);
    }
    return all + "...";
  }
  std::string short_name(fbleprof_block block) const {
    if (block == 0 || recorder_.name_of(block) == "main chunk") return recorder_.name_of(block);
    return std::to_string(recorder_.blocks[block - 1].line);
  }

  FakeRecorder recorder_;
  FakeLua lua_{501};
  const void* const loop_ = &lua_;
  // local f, for all of the code
  static constexpr char kVariables[] = "f\0\0\x20";
  Raw global_{16 * 1024};
  MachineStack machine_;
  Thread main_{global_, machine_.frame(0)};
  Script line_{
      0, {op_ad(kOpFunction, 2, 0), op_ad(kOpMove, 1, 0), op_abc(kOpCall, 1, 1, 1)}, "=fbleprof"};
  CFunction look_{0x1234};
  std::unique_ptr<Thread> checked_;
  Script script_{1}, callee_{5}, third_{9};
  LuaJitStack& stack_ = *static_cast<LuaJitStack*>(calloc(1, sizeof(LuaJitStack)));
};

// -- The check at the start --

TEST_F(LuaJitStacks, TheLoopIsNotKnownIfTheCheckCannotRun) {
  prepare_check();
  lua_.load_result = 3;
  EXPECT_FALSE(is_loop_known());
  prepare_check();
  lua_.load_result = 0;
  lua_.levels.clear();
  EXPECT_FALSE(is_loop_known());
  EXPECT_TRUE(lua_.stack.empty());
}

TEST_F(LuaJitStacks, TheLoopIsNotKnownIfTheGlobalStateIsOtherwise) {
  const Edge edge;
  prepare_check();
  checked_->raw().header.kind = kIsTable;
  EXPECT_FALSE(is_loop_known()) << "no thread";
  prepare_check();
  global_.put(kMainInGlobal, Address{0});
  EXPECT_FALSE(is_loop_known()) << "without the main thread";
  prepare_check();
  global_.put(kMainInGlobal - 8, kInterpreter);
  EXPECT_FALSE(is_loop_known()) << "it says that no code of C runs";
  prepare_check();
  global_.put(kRunningInGlobal, Address{0});
  EXPECT_FALSE(is_loop_known()) << "without the running coroutine";
  prepare_check();
  global_.put(kRunningInGlobal + 8, Address{1});
  EXPECT_FALSE(is_loop_known()) << "compiled code would run";
  prepare_check();
  char* cut = edge.first_bytes_of(global_.at(), 512);
  checked_->raw().global = reinterpret_cast<Address>(cut);
  EXPECT_FALSE(is_loop_known()) << "it ends with its page";
  prepare_check();
  EXPECT_TRUE(is_loop_known());
}

TEST_F(LuaJitStacks, TheLoopIsNotKnownIfTheStackIsOtherwise) {
  const auto is_known_with = [this](auto damage) {
    prepare_check();
    damage();
    const bool is_known = is_loop_known();
    line_.prototype().line = 0;
    return is_known;
  };
  EXPECT_TRUE(is_known_with([] {}));
  EXPECT_FALSE(is_known_with([this] { checked_->raw().machine_frame = 0; }));
  EXPECT_FALSE(is_known_with([this] { checked_->raw().base = checked_->raw().stack + 16; }))
      << "no frame";
  EXPECT_FALSE(is_known_with([this] {
    lua_.levels[1].function = LuaValue::function(callee_.closure().at());
  })) << "the API tells of another caller";
  EXPECT_FALSE(is_known_with([this] { line_.prototype().line = 3; })) << "no main chunk";
  EXPECT_FALSE(is_known_with([this] {
    line_.prototype().variables = reinterpret_cast<Address>("g\0\0\x20");
  })) << "another name";
  EXPECT_FALSE(is_known_with([this] { line_.prototype().variables = 0; })) << "no name";
}

TEST_F(LuaJitStacks, TheLoopIsNotKnownIfTheLineHasAnotherSource) {
  const Edge edge;
  const Address source = line_.prototype().source;
  Raw other = string_of("=other");
  prepare_check();
  line_.prototype().source = other.address();
  EXPECT_FALSE(is_loop_known());
  prepare_check();
  line_.prototype().source = reinterpret_cast<Address>(edge.unreadable());
  EXPECT_FALSE(is_loop_known());
  prepare_check();
  line_.prototype().source = source;
  EXPECT_TRUE(is_loop_known());
}

TEST_F(LuaJitStacks, ALineWithVariableArgumentsIsUnderstood) {
  const auto is_known_with = [this](Raw& of_real_frame, std::size_t distance) {
    prepare_check();
    checked_ = std::make_unique<Thread>(global_, machine_.frame(0));
    checked_->push(of_real_frame, kFromC);
    checked_->push(line_.closure(), kVarArgs, distance);
    checked_->slots().put(8 * (checked_->link() + 1), value_of(look_.closure()));
    checked_->push_from_lua(look_.closure(), line_.code(3), 1);
    global_.put(kRunningInGlobal, checked_->address());
    lua_.new_thread = checked_->state();
    return is_loop_known();
  };
  EXPECT_TRUE(is_known_with(line_.closure(), 3));
  EXPECT_FALSE(is_known_with(callee_.closure(), 3)) << "the real frame is another function's";
  prepare_check();
  checked_->slots().put(8 * (checked_->link() - 3), 16 | kVarArgs);
  EXPECT_FALSE(is_loop_known()) << "there is no real frame";
}

// -- Samples --

TEST_F(LuaJitStacks, WithoutAFrameThereIsNothing) {
  EXPECT_EQ(read(), "");
  stack_.remove(main_.state());
  main_.push(script_.closure(), kFromC);
  EXPECT_EQ(read(), "");
}

TEST_F(LuaJitStacks, FunctionsAreReadNewestFirst) {
  main_.push(script_.closure(), kFromC);
  main_.push_from_lua(callee_.closure(), script_.code(4), 1);
  EXPECT_EQ(read(), "5 1");
  main_.push(third_.closure(), kProtected, 3);
  EXPECT_EQ(read(), "9 5 1");
}

TEST_F(LuaJitStacks, EachFrameTellsWhereItsFunctionIs) {
  main_.push(script_.closure(), kFromC);
  alignas(8) char reading[128] = {};
  fbleprof_frame frame;
  ASSERT_EQ(stack_.read(reading, &frame), 1);
  EXPECT_EQ(frame.mark, machine_.frame(0));
  EXPECT_EQ(frame.goes_on, std::uint32_t{FBLEPROF_IN_LOOP});
  EXPECT_EQ(frame.place[0], main_.slots().address() + 8 * main_.link());
  EXPECT_EQ(frame.value[0], 2 * 8 | kFromC);
  EXPECT_EQ(frame.place[1], frame.place[0] - 8);
  EXPECT_EQ(frame.value[1], value_of(script_.closure()));
  EXPECT_EQ(stack_.read(reading, &frame), 0);
  EXPECT_EQ(stack_.read(reading, &frame), 0) << "the end stays the end";
}

TEST_F(LuaJitStacks, FramesWithoutAFunctionOfTheirOwnAreLeftOut) {
  main_.push(script_.closure(), kFromC);
  main_.push(callee_.closure(), kContinuation, 4);
  main_.push(callee_.closure(), kVarArgs, 3);
  EXPECT_EQ(read(), "5 1") << "a function with variable arguments has two frames";
  main_.push(script_.closure(), kFromC);
  main_.slots().put(8 * (main_.link() - 1), kIsFunctionValue | main_.address());
  EXPECT_EQ(read(), "5 1") << "a coroutine's first frame has the coroutine itself";
}

TEST_F(LuaJitStacks, ALinkThatCannotBeReadEndsTheStack) {
  const Edge edge;
  main_.push(script_.closure(), kFromC);
  main_.push(callee_.closure(), kFromC);
  main_.slots().put(8 * main_.link(), reinterpret_cast<Address>(edge.unreadable()) + 8);
  EXPECT_EQ(read(), "?") << "the caller's code";
  main_.slots().put(8 * main_.link(), std::uint64_t{kFromC});
  EXPECT_EQ(read(), "?") << "a distance of 0";
  main_.raw().base = reinterpret_cast<Address>(edge.unreadable()) + 4096;
  EXPECT_EQ(read(), "?");
}

TEST_F(LuaJitStacks, AFunctionThatCannotBeReadEndsTheStack) {
  const Edge edge;
  // The slot of the link is the first one of a page.
  main_.raw().base = reinterpret_cast<Address>(edge.behind_unreadable()) + 8;
  EXPECT_EQ(read(), "?");
}

TEST_F(LuaJitStacks, ACallerThatIsNoFunctionNamesNothing) {
  main_.push(script_.closure(), kFromC);
  main_.push_from_lua(callee_.closure(), script_.code(4), 1);
  main_.slots().put(8 * 2, value_of(global_));
  EXPECT_EQ(read(), "5 none");
}

TEST_F(LuaJitStacks, AMachineFrameThatCannotBeReadHasNoOlderOne) {
  const Edge edge;
  main_.push(script_.closure(), kFromC);
  main_.raw().machine_frame = reinterpret_cast<Address>(edge.unreadable());
  EXPECT_EQ(read(), "1");
}

TEST_F(LuaJitStacks, AThreadThatWasFreedMeanwhileHasNoFrames) {
  main_.push(script_.closure(), kFromC);
  alignas(8) char reading[128] = {};
  fbleprof_frame frame;
  main_.push(callee_.closure(), kFromC);
  ASSERT_EQ(stack_.read(reading, &frame), 1);
  main_.raw().header.kind = kIsTable;
  EXPECT_EQ(stack_.read(reading, &frame), -1);
  EXPECT_EQ(read(), "");
}

TEST_F(LuaJitStacks, AGlobalStateOfAnotherThreadIsNotRead) {
  const Edge edge;
  main_.push(script_.closure(), kFromC);
  global_.put(kMainInGlobal, Address{0});
  EXPECT_EQ(read(), "");
  global_.put(kMainInGlobal, main_.address()).put(kRunningInGlobal, global_.address());
  EXPECT_EQ(read(), "");
  Raw other_global(2048);
  Thread other(other_global, machine_.frame(0));
  global_.put(kRunningInGlobal, other.address());
  EXPECT_EQ(read(), "");
  global_.put(kRunningInGlobal, main_.address());
  EXPECT_EQ(read(), "1");
  for (const std::size_t bytes :
       {kMainInGlobal - 8, kMainInGlobal, kRunningInGlobal, kRunningInGlobal + 8}) {
    main_.raw().global = reinterpret_cast<Address>(edge.first_bytes_of(global_.at(), bytes));
    EXPECT_EQ(read(), "") << bytes;
  }
}

TEST_F(LuaJitStacks, OfTwoLuasTheNewerOneIsRead) {
  Raw second_global(16 * 1024);
  Thread second(second_global, machine_.frame(0));
  set_globals(second_global, second.address(), second.address(), kInterpreter);
  main_.push(script_.closure(), kFromC);
  second.push(callee_.closure(), kFromC);
  stack_.add(second.state());
  EXPECT_EQ(read(), "5");
  second.raw().machine_frame = 0;
  EXPECT_EQ(read(), "1");
}

TEST_F(LuaJitStacks, AStackWithoutEndEnds) {
  // A link with a distance that leads up again.
  main_.push(script_.closure(), kFromC);
  main_.push(callee_.closure(), kFromC);
  main_.slots().put(8 * main_.link(), (~std::uint64_t{0} - 15) | kVarArgs);
  main_.slots().put(8 * (main_.link() + 2), 16 | kVarArgs);
  EXPECT_EQ(read(), "?");
}

TEST_F(LuaJitStacks, AnInvocationOfTheInterpreterByCCodeHasItsOwnMachineFrame) {
  main_.push(script_.closure(), kFromC);
  main_.push(callee_.closure(), kFromC);
  machine_.set(0, main_.address(), machine_.frame(2) | 1);
  machine_.set(2, main_.address(), 0);
  alignas(8) char reading[128] = {};
  fbleprof_frame frame;
  ASSERT_EQ(stack_.read(reading, &frame), 1);
  EXPECT_EQ(frame.mark, machine_.frame(0));
  ASSERT_EQ(stack_.read(reading, &frame), 1);
  EXPECT_EQ(frame.mark, machine_.frame(2));
}

// -- Coroutines --

TEST_F(LuaJitStacks, TheRunningCoroutineIsReadBeforeTheOneThatWaitsForIt) {
  Thread coroutine(global_, machine_.frame(0));
  main_.raw().machine_frame = machine_.frame(1);
  machine_.set(0, coroutine.address(), 0);
  machine_.set(1, main_.address(), 0);
  global_.put(kRunningInGlobal, coroutine.address());
  main_.push(script_.closure(), kFromC);
  coroutine.push(callee_.closure(), kFromC);
  EXPECT_EQ(read(), "5 1");

  main_.raw().machine_frame = machine_.frame(3);
  EXPECT_EQ(read(), "5") << "its frame is elsewhere";
  main_.raw().machine_frame = machine_.frame(1);
  machine_.set(1, callee_.address(), 0);
  EXPECT_EQ(read(), "5") << "no thread has resumed it";
  Raw other_global(2048);
  Thread other(other_global, machine_.frame(1));
  machine_.set(1, other.address(), 0);
  EXPECT_EQ(read(), "5") << "one of another Lua";
  machine_.set(1, coroutine.address(), 0);
  EXPECT_EQ(read(), "5") << "itself";
  const Edge edge;
  coroutine.raw().machine_frame = reinterpret_cast<Address>(edge.last(80));
  EXPECT_EQ(read(), "5") << "the machine stack ends";
}

// -- Registers --

TEST_F(LuaJitStacks, TheInterpreterHasTheNewestFrameInARegister) {
  std::uint64_t registers[23] = {};
  recorder_.registers = registers;
  main_.push(script_.closure(), kFromC);
  const Address stored = main_.raw().base;
  main_.push(callee_.closure(), kFromC);
  const Address newest = main_.raw().base;
  main_.raw().base = stored;
  registers[kRdx] = newest;
  registers[kRsp] = machine_.frame(0);
  EXPECT_EQ(read(), "5 1");
  registers[kRsp] = machine_.frame(0) - 16;
  EXPECT_EQ(read(), "5 1") << "in a helper of the interpreter";
  registers[kRsp] = machine_.frame(0) - 64;
  EXPECT_EQ(read(), "1") << "in C code";
  registers[kRbp] = newest;
  EXPECT_EQ(read(), "5 1") << "in libm";
  registers[kRsp] = machine_.frame(0) + 8;
  EXPECT_EQ(read(), "1") << "below the interpreter";
  registers[kRsp] = machine_.frame(0);
  global_.put(kMainInGlobal - 8, kCCode);
  EXPECT_EQ(read(), "1") << "the global state tells that C code runs";
}

TEST_F(LuaJitStacks, ARegisterWithAnythingElseIsNotTaken) {
  const Edge edge;
  std::uint64_t registers[23] = {};
  recorder_.registers = registers;
  registers[kRsp] = machine_.frame(0);
  main_.push(script_.closure(), kFromC);
  for (const Address value : {Address{0}, main_.raw().base + 1, main_.raw().stack + 8,
                              main_.raw().stack_end, main_.raw().stack_end - 8}) {
    registers[kRdx] = value;
    EXPECT_EQ(read(), "1") << value;
  }
  // Pages that were mapped are above the heap, where the stack is.
  main_.raw().stack_end = ~Address{0};
  registers[kRdx] = reinterpret_cast<Address>(edge.unreadable()) + 64;
  EXPECT_EQ(read(), "1");
}

// -- Compiled code --

class LuaJitTraceStacks : public LuaJitStacks {
 protected:
  LuaJitTraceStacks() {
    recorder_.registers = registers_;
    main_.push(script_.closure(), kFromC);
    table_.set(3, trace_.address());
    // Compiled code runs, and keeps Lua's stack at this place.
    global_.put(kMainInGlobal - 8, std::int32_t{3}).put(kRunningInGlobal + 8, main_.raw().base);
    registers_[kRip] = trace_.machine(8);
    registers_[kRsp] = machine_.frame(0) - 64;
  }

  std::uint64_t registers_[23] = {};
  Trace trace_{3};
  TraceTable table_{global_, 4096};
};

TEST_F(LuaJitTraceStacks, CompiledCallsAreAboveTheStacksOwn) {
  trace_.add_snapshot(0, 6,
                      {{3, value_of(callee_.closure())},
                       {4, script_.code(4)},
                       {6, value_of(third_.closure())},
                       {7, script_.code(4)}});
  EXPECT_EQ(read(), "9 5 1");
}

TEST_F(LuaJitTraceStacks, ATailCallReplacesTheStacksNewestFunction) {
  trace_.add_snapshot(
      0, 3,
      {{0, value_of(third_.closure())}, {3, value_of(callee_.closure())}, {4, script_.code(4)}});
  EXPECT_EQ(read(), "5 9");
}

TEST_F(LuaJitTraceStacks, WithoutAFunctionBelowACompiledOneHasNoCaller) {
  trace_.add_snapshot(0, 3, {{3, value_of(callee_.closure())}, {4, script_.code(4)}});
  main_.slots().put(8 * (main_.link() - 1), std::uint64_t{0});
  EXPECT_EQ(read(), "5 none");
}

TEST_F(LuaJitTraceStacks, TheCollectorHidesTheTrace) {
  trace_.add_snapshot(0, 3, {{3, value_of(callee_.closure())}, {4, script_.code(4)}});
  global_.put(kMainInGlobal - 8, std::int32_t{-5});
  EXPECT_EQ(read(), "1");
}

TEST_F(LuaJitTraceStacks, OutsideOfASampleTheTraceIsKnownByTheMachineStack) {
  trace_.add_snapshot(0, 3, {{3, value_of(callee_.closure())}, {4, script_.code(4)}});
  recorder_.registers = nullptr;
  EXPECT_EQ(read(), "1") << "no address of the trace is on it";
}

}  // namespace
}  // namespace fbleprof::adapters
