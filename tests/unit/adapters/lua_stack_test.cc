// The handler's reader of Lua's stacks, on threads that the test lays out in memory: whole ones,
// changing ones and damaged ones.
#include "adapters/lua_stack.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fake_lua.h"
#include "fake_recorder.h"
#include "memory.h"

namespace fbleprof::adapters {
namespace {

// Offsets in a thread and in a call, by the version of Lua.
constexpr std::size_t kKind = 8, kGlobal = 24, kCall = 32, kBase = 96;
constexpr std::size_t kFunction = 0, kPrevious = 16, kNext = 24;
struct Offsets {
  std::size_t status_of_thread, status_of_call;
  std::uint8_t fresh, not_fresh;
};
Offsets offsets() {
  if (lua.version == 504) return {10, 62, 4, 0};
  if (lua.version == 503) return {12, 66, 8, 0};
  return {10, 34, 0, 4};
}

int some_function(lua_State*) { return 0; }
int other_function(lua_State*) { return 0; }
void ask(lua_State*, void*) {}
void programs_hook(lua_State*, void*) {}

// A function of a script.
struct Script {
  explicit Script(int line, const std::string& name = "@/s.lua") {
    std::memcpy(source.at(24), name.c_str(), name.size() + 1);
    prototype.put(lua.layout.line_defined, line)
        .put(lua.layout.source, source.at())
        .put(lua.layout.code, source.at())
        .put(lua.layout.constants, source.at());
    closure.put(kPrototypeOfClosure, prototype.at());
  }
  Raw closure, prototype, source;
};

// A thread of Lua: its state, in which its first call is, and the slots of its stack.
class Thread {
 public:
  explicit Thread(char* global) {
    state_.put(kKind, std::uint8_t{8}).put(kGlobal, global).put(kCall, base());
  }
  lua_State* state() { return reinterpret_cast<lua_State*>(state_.at()); }
  Raw& raw() { return state_; }
  char* base() { return state_.at(kBase); }
  char* newest() { return calls_.empty() ? base() : calls_.back()->at(); }

  // Begins a call of what the slot holds; the next slot is its first argument.
  Raw& call(const void* value, std::uint8_t kind, bool is_fresh = false) {
    char* const caller = newest();
    char* slot = slots_.at(used_);
    used_ += 32;
    slots_.put(used_ - 32, value).put(used_ - 24, kind);
    calls_.push_back(std::make_unique<Raw>(96));
    Raw& raw = *calls_.back();
    raw.put(kFunction, slot)
        .put(kPrevious, caller)
        .put(offsets().status_of_call, is_fresh ? offsets().fresh : offsets().not_fresh);
    char* const called = raw.at();
    std::memcpy(caller + kNext, &called, sizeof called);
    state_.put(kCall, called);
    return raw;
  }
  Raw& call(Script& script, bool is_fresh = false) {
    return call(script.closure.at(), kLuaFunction | 0x40, is_fresh);
  }
  Raw& call_c(LuaFunction code) { return call(reinterpret_cast<const void*>(code), kCFunction); }
  void set_argument(const void* value, std::uint8_t kind) {
    slots_.put(used_ - 16, value).put(used_ - 8, kind);
  }
  // coroutine.resume(of)
  void resume(Thread& of) {
    call_c(some_function);
    set_argument(of.state(), 8 | 0x40);
  }

 private:
  Raw state_{512}, slots_{64 * 1024};
  std::vector<std::unique_ptr<Raw>> calls_;
  std::size_t used_ = 0;
};

class LuaStacks : public testing::TestWithParam<int> {
 protected:
  LuaStacks() {
    Thread main(global_);
    begin_check(main);
    EXPECT_EQ(find_loop(main.state()), loop_);
    stack_.ask_by(ask);
    stack_.add(main_.state());
  }

  // The calls that find_loop makes, as they are in memory and as the API tells.
  void begin_check(Thread& main) {
    main.call(chunk_, true);
    LuaLevel chunk, ours;
    chunk.call_info = main.newest();
    main.call_c(some_function);
    ours.call_info = main.newest();
    lua_.levels = {ours, chunk};
    recorder_.callers = {{precall_, loop_, docall_}, {precall_, docall_}};
  }

  // What a sample reads: functions, newest first. "|" after those whose loop was entered for them,
  // "?" at the end if older ones cannot be read.
  std::string read() {
    alignas(8) char reading[128] = {};
    std::string all;
    for (int i = 0; i < 200; ++i) {
      fbleprof_frame frame;
      const int result = stack_.read(reading, &frame);
      if (result < 0) return all + "?";
      if (result == 0) return all;
      all += recorder_.name_of(frame.block) + (frame.goes_on ? " " : "| ");
    }
    return all + "...";
  }

  FakeRecorder recorder_;
  FakeLua lua_{GetParam()};
  const void *const precall_ = &recorder_, *const loop_ = &lua_, *const docall_ = this;
  Raw its_global_, others_global_;
  char* global_ = its_global_.at();
  Script chunk_{0, "=fbleprof"};
  Script f_{1}, g_{20};
  const std::string f_name_ = "function </s.lua:1>", g_name_ = "function </s.lua:20>";
  Thread main_{global_};
  LuaStack& stack_ = *static_cast<LuaStack*>(calloc(1, sizeof(LuaStack)));
};
INSTANTIATE_TEST_SUITE_P(Versions, LuaStacks, testing::Values(502, 503, 504));

// -- The check at the start --

TEST_P(LuaStacks, TheLoopIsNotKnownIfTheCheckCannotRun) {
  for (const int calls : {0, 1}) {
    Thread main(global_);
    begin_check(main);
    lua_.calls_that_work = calls;
    EXPECT_EQ(find_loop(main.state()), nullptr) << calls;
  }
  Thread main(global_);
  begin_check(main);
  lua_.load_result = 3;
  EXPECT_EQ(find_loop(main.state()), nullptr);
  EXPECT_TRUE(lua_.stack.empty());
}

TEST_P(LuaStacks, TheLoopIsNotKnownIfTheApiTellsOfOtherCalls) {
  for (int missing = 0; missing < 2; ++missing) {
    Thread main(global_);
    begin_check(main);
    lua_.levels.resize(static_cast<std::size_t>(missing));
    EXPECT_EQ(find_loop(main.state()), nullptr) << missing;
  }
  for (std::size_t wrong = 0; wrong < 2; ++wrong) {
    Thread main(global_);
    begin_check(main);
    lua_.levels[wrong].call_info = this;
    EXPECT_EQ(find_loop(main.state()), nullptr) << wrong;
  }
}

TEST_P(LuaStacks, TheLoopIsNotKnownIfMemoryIsOtherwise) {
  const Edge edge;
  const StackSlot of_script{f_.closure.at(), kLuaFunction}, of_c{nullptr, kCFunction};
  // `damage` gets the calls of the C function and of the line of Lua that called it.
  const auto is_known_with = [&](auto damage) {
    Thread main(global_);
    begin_check(main);
    damage(main, main.newest(), static_cast<char*>(const_cast<void*>(lua_.levels[1].call_info)));
    return find_loop(main.state()) != nullptr;
  };
  const auto set = [](char* call, std::size_t offset, const void* value) {
    std::memcpy(call + offset, &value, sizeof value);
  };
  EXPECT_TRUE(is_known_with([](Thread&, char*, char*) {}));
  // The newest call is elsewhere, or cannot be read.
  EXPECT_FALSE(
      is_known_with([](Thread& main, char*, char*) { main.raw().put(kCall, main.base()); }));
  EXPECT_FALSE(is_known_with([&](Thread& main, char*, char*) {
    main.raw().put(kCall, edge.unreadable());
    lua_.levels[0].call_info = edge.unreadable();
  }));
  EXPECT_FALSE(is_known_with([&](Thread& main, char*, char*) {
    main.raw().put<char*>(kCall, nullptr);
    lua_.levels[0].call_info = nullptr;
  }));
  // Its neighbours are others.
  EXPECT_FALSE(is_known_with([&](Thread&, char* call, char*) { set(call, kPrevious, nullptr); }));
  EXPECT_FALSE(is_known_with([&](Thread&, char* call, char*) {
    set(call, kPrevious, edge.unreadable());
    lua_.levels[1].call_info = edge.unreadable();
  }));
  EXPECT_FALSE(is_known_with([&](Thread&, char* call, char*) {
    set(call, kPrevious, nullptr);
    lua_.levels[1].call_info = nullptr;
  }));
  EXPECT_FALSE(is_known_with([&](Thread&, char*, char* chunk) { set(chunk, kNext, nullptr); }));
  // Its function cannot be read, or is none of C.
  EXPECT_FALSE(
      is_known_with([&](Thread&, char* call, char*) { set(call, kFunction, edge.unreadable()); }));
  EXPECT_FALSE(
      is_known_with([&](Thread&, char* call, char*) { set(call, kFunction, &of_script); }));
  // The caller is no function of Lua, or was not entered by the loop for this call.
  EXPECT_FALSE(is_known_with(
      [&](Thread&, char*, char* chunk) { set(chunk, kFunction, edge.unreadable()); }));
  EXPECT_FALSE(is_known_with([&](Thread&, char*, char* chunk) { set(chunk, kFunction, &of_c); }));
  EXPECT_FALSE(is_known_with([](Thread&, char*, char* chunk) {
    chunk[offsets().status_of_call] = static_cast<char>(offsets().not_fresh);
  }));
}

TEST_P(LuaStacks, TheLoopIsNotKnownIfTheFirstCallIsNotInTheThread) {
  Thread main(global_);
  begin_check(main);
  Raw elsewhere;
  char* const at = elsewhere.at();
  std::memcpy(static_cast<char*>(const_cast<void*>(lua_.levels[1].call_info)) + kPrevious, &at,
              sizeof at);
  EXPECT_EQ(find_loop(main.state()), nullptr);
  Thread again(global_);
  begin_check(again);
  EXPECT_EQ(find_loop(again.state()), loop_) << "for the tests that follow";
}

TEST_P(LuaStacks, TheLoopIsNotKnownIfBothCallsHaveTheSameCallers) {
  const std::vector<const void*> same(8, this);
  for (const std::vector<const void*>& callers : {same, {precall_, docall_}, {}}) {
    Thread main(global_);
    begin_check(main);
    recorder_.callers = {callers, callers};
    EXPECT_EQ(find_loop(main.state()), nullptr) << callers.size();
  }
}

// -- Samples --

TEST_P(LuaStacks, WithoutAMainThreadInACallThereIsNothing) {
  EXPECT_EQ(read(), "") << "it has not begun";
  stack_.remove(main_.state());
  main_.call(f_);
  EXPECT_EQ(read(), "");
}

TEST_P(LuaStacks, FunctionsAreReadNewestFirst) {
  recorder_.blocks = {{reinterpret_cast<std::uintptr_t>(some_function), "print", "", "", 0}};
  main_.call(chunk_, true);
  main_.call(f_);
  main_.call(g_, true);
  main_.call_c(some_function);
  EXPECT_EQ(read(), "print " + g_name_ + "| " + f_name_ + " main chunk| ");
  EXPECT_EQ(read(), "print " + g_name_ + "| " + f_name_ + " main chunk| ") << "again, from memory";
  EXPECT_EQ(recorder_.blocks.size(), 4u);
}

TEST_P(LuaStacks, TheProgramsOwnCFunctionIsLeftToTheMachineStack) {
  main_.call_c(some_function);
  main_.call(f_);
  EXPECT_EQ(read(), f_name_ + " ");
}

TEST_P(LuaStacks, AFunctionOfCWithUpvaluesIsKnownByItsCode) {
  recorder_.blocks = {{reinterpret_cast<std::uintptr_t>(other_function), "gmatch", "", "", 0}};
  const Edge edge;
  Raw closure;
  closure.put(kCodeOfCClosure, other_function);
  main_.call(chunk_);
  main_.call(closure.at(), kCClosure);
  EXPECT_EQ(read(), "gmatch main chunk ");
  main_.call(edge.unreadable(), kCClosure);
  EXPECT_EQ(read(), "none gmatch main chunk ") << "a closure that was freed";
}

TEST_P(LuaStacks, AValueThatIsNoFunctionIsNotShown) {
  main_.call(chunk_);
  main_.call(this, 0x05);
  EXPECT_EQ(read(), "none main chunk ");
}

TEST_P(LuaStacks, AFunctionThatCannotBeReadIsNotShown) {
  const Edge edge;
  main_.call(chunk_);
  main_.call(edge.unreadable(), kLuaFunction);
  EXPECT_EQ(read(), "none main chunk ");
  Script freed(7);
  freed.prototype.put(lua.layout.source, edge.unreadable());
  main_.call(freed);
  EXPECT_EQ(read(), "none none main chunk ");
}

TEST_P(LuaStacks, WhileLuaMovesItsStackOlderCallsCannotBeRead) {
  const Edge edge;
  main_.call(chunk_);
  main_.call(f_).put(kFunction, edge.unreadable());
  main_.call(g_);
  EXPECT_EQ(read(), g_name_ + " ?");
}

TEST_P(LuaStacks, AListOfCallsThatBreaksOffEndsThere) {
  const Edge edge;
  main_.call(chunk_);
  main_.call(f_).put(kPrevious, edge.unreadable());
  main_.call(g_);
  EXPECT_EQ(read(), g_name_ + " " + f_name_ + " ");
  main_.raw().put(kCall, edge.unreadable());
  EXPECT_EQ(read(), "");
}

TEST_P(LuaStacks, ACallThatEndsWithItsPageCannotBeRead) {
  const Edge edge;
  main_.call(chunk_);
  char* const cut = edge.first_bytes_of(main_.call(f_).at(), 40);
  main_.call(g_).put(kPrevious, cut);
  EXPECT_EQ(read(), g_name_ + " ?");
}

TEST_P(LuaStacks, ANewestCallWithoutAFunctionCannotBeRead) {
  const Edge edge;
  main_.call(chunk_);
  Raw& newest = main_.call(f_);
  for (char* function : {edge.unreadable(), static_cast<char*>(nullptr)}) {
    newest.put(kFunction, function);
    EXPECT_EQ(read(), "?");
  }
}

TEST_P(LuaStacks, AMainThreadThatWasFreedIsNotRead) {
  const Edge edge;
  main_.call(f_);
  stack_.add(reinterpret_cast<lua_State*>(edge.unreadable()));
  EXPECT_EQ(read(), f_name_ + " ");
}

TEST_P(LuaStacks, ASourceThatWasCompiledTwiceIsOneFunction) {
  Script again(1);
  main_.call(f_);
  main_.call(again);
  EXPECT_EQ(read(), f_name_ + " " + f_name_ + " ");
  EXPECT_EQ(recorder_.blocks.size(), 1u);
}

TEST_P(LuaStacks, AListOfCallsThatLeadsBackToItselfEnds) {
  main_.call(chunk_);
  Raw& older = main_.call(f_);
  Raw& newer = main_.call(f_);
  older.put(kPrevious, newer.at());
  alignas(8) char reading[128] = {};
  fbleprof_frame frame;
  int count = 0;
  while (count < 1 << 21 && stack_.read(reading, &frame) == 1) ++count;
  EXPECT_EQ(count, 1 << 20);
}

TEST_P(LuaStacks, ThePlacesTellWhetherAFunctionIsStillThere) {
  main_.call(chunk_);
  Raw& call = main_.call(f_);
  alignas(8) char reading[128] = {};
  fbleprof_frame frame;
  ASSERT_EQ(stack_.read(reading, &frame), 1);
  EXPECT_EQ(frame.place[0], call.address());
  EXPECT_EQ(frame.value[0], call.get<std::uint64_t>(kFunction));
  EXPECT_EQ(frame.place[1], frame.value[0]);
  EXPECT_EQ(frame.value[1], f_.closure.address());
  EXPECT_EQ(frame.mark, 0u);
}

TEST_P(LuaStacks, OfTwoLuasTheNewerOneIsRead) {
  Thread second(global_);
  stack_.add(second.state());
  main_.call(f_);
  EXPECT_EQ(read(), f_name_ + " ") << "the newer one is in no call";
  second.call(g_);
  EXPECT_EQ(read(), g_name_ + " ");
}

// -- Coroutines --

TEST_P(LuaStacks, TheRunningCoroutineIsReadBeforeThoseThatWaitForIt) {
  Thread inner(global_), innermost(global_);
  main_.call(chunk_, true);
  main_.resume(inner);
  inner.call(f_);
  // The function that coroutine.wrap made.
  Raw wrapped;
  const StackSlot upvalue{reinterpret_cast<const char*>(innermost.state()), 8 | 0x40};
  wrapped.put(kCodeOfCClosure, some_function).put(32, upvalue);
  inner.call(wrapped.at(), kCClosure);
  innermost.call(g_);
  EXPECT_EQ(read(), g_name_ + "| none " + f_name_ + "| none main chunk| ");
}

TEST_P(LuaStacks, OnlyACoroutineThatRunsIsFollowed) {
  const Edge edge;
  Thread other(global_);
  other.call(g_);
  main_.call(chunk_, true);
  main_.resume(other);
  const std::string alone = "none main chunk| ", both = g_name_ + "| " + alone;
  EXPECT_EQ(read(), both);
  // It has yielded.
  other.raw().put(offsets().status_of_thread, std::uint8_t{1});
  EXPECT_EQ(read(), alone);
  other.raw().put(offsets().status_of_thread, std::uint8_t{0});
  // It is of another Lua.
  other.raw().put(kGlobal, others_global_.at());
  EXPECT_EQ(read(), alone);
  other.raw().put(kGlobal, global_);
  // It has ended.
  char* const newest = other.raw().get<char*>(kCall);
  other.raw().put(kCall, other.base());
  EXPECT_EQ(read(), alone);
  other.raw().put(kCall, edge.unreadable());
  EXPECT_EQ(read(), alone);
  other.raw().put(kCall, newest);
  // It was freed, and its memory holds something else.
  other.raw().put(kKind, std::uint8_t{5});
  EXPECT_EQ(read(), alone);
  other.raw().put(kKind, std::uint8_t{8});
  EXPECT_EQ(read(), both);
  main_.set_argument(edge.unreadable(), 8 | 0x40);
  EXPECT_EQ(read(), alone);
  main_.set_argument(other.state(), 5 | 0x40);
  EXPECT_EQ(read(), alone) << "the argument is a table";
}

TEST_P(LuaStacks, ACoroutineThatAsksAboutOneThatWaitsForItIsTheLast) {
  Thread inner(global_);
  main_.call(chunk_, true);
  main_.resume(inner);
  inner.call(f_);
  inner.resume(main_);
  EXPECT_EQ(read(), "none " + f_name_ + "| none main chunk| ");
}

TEST_P(LuaStacks, OfAVeryLongChainOnlyTheBeginningIsRead) {
  std::vector<std::unique_ptr<Thread>> chain;
  Thread* last = &main_;
  main_.call(chunk_, true);
  for (int i = 0; i < 80; ++i) {
    chain.push_back(std::make_unique<Thread>(global_));
    last->resume(*chain.back());
    last = chain.back().get();
    last->call(f_);
  }
  std::string expected = "none ";
  for (int i = 0; i < 63; ++i) expected += f_name_ + "| none ";
  EXPECT_EQ(read(), expected + "main chunk| ");
}

// -- Names --

TEST_P(LuaStacks, AnUnnamedFunctionMakesTheReaderAskForItsName) {
  main_.call(chunk_, true);
  read();
  EXPECT_EQ(lua_.hook, nullptr) << "a main chunk needs no name";
  main_.call(f_);
  read();
  EXPECT_EQ(lua_.hook, ask);
  EXPECT_EQ(lua_.hooks_set, 1);
}

TEST_P(LuaStacks, AnAnswerThatDoesNotComeIsAskedForAgainMuchLater) {
  main_.call(chunk_);
  main_.call_c(some_function);
  for (int i = 0; i < 200; ++i) read();
  EXPECT_EQ(lua_.hooks_set, 1);
  lua_.hook = nullptr;
  for (int i = 0; i < 100; ++i) read();
  EXPECT_EQ(lua_.hooks_set, 2);
}

TEST_P(LuaStacks, TheProgramsOwnHookStays) {
  lua_.hook = programs_hook;
  main_.call(chunk_);
  main_.call_c(some_function);
  read();
  stack_.learn_names(main_.state());
  EXPECT_EQ(lua_.hook, programs_hook);
  EXPECT_EQ(lua_.hooks_set, 0);
}

LuaLevel level_of(const char* name, const char* call, const void* object) {
  LuaLevel level;
  level.name = name;
  level.call_info = call;
  level.function = LuaValue::function(object);
  return level;
}

TEST_P(LuaStacks, LuaIsAskedForTheNamesOfFunctions) {
  const Edge edge;
  Script unknown(9), freed(10);
  freed.prototype.put(lua.layout.source, edge.unreadable());
  main_.call(chunk_);
  main_.call(f_);
  main_.call(g_);
  read();
  lua_.levels = {level_of("f", main_.newest(), f_.closure.at()),
                 level_of(nullptr, main_.newest() + 1, g_.closure.at()),
                 level_of("u", main_.newest() + 2, unknown.closure.at()),
                 level_of("e", main_.newest() + 3, edge.unreadable()),
                 level_of("s", main_.newest() + 4, freed.closure.at())};
  stack_.learn_names(main_.state());
  EXPECT_EQ(lua_.hook, nullptr) << "it is asked once";
  EXPECT_EQ(read(), g_name_ + " f main chunk ");
  EXPECT_EQ(recorder_.blocks.size(), 3u);
}

TEST_P(LuaStacks, CFunctionsThatNoModuleHasAreNamedByTheirCallers) {
  main_.call(chunk_);
  main_.call_c(some_function);
  LuaLevel named = level_of("send", main_.newest(), nullptr);
  named.what = "C";
  named.function.code = some_function;
  LuaLevel unnamed = named, odd = named;
  unnamed.name = nullptr;
  unnamed.call_info = main_.newest() + 1;
  unnamed.function.code = other_function;
  odd.call_info = main_.newest() + 2;
  odd.function.code = nullptr;
  lua_.levels = {named, unnamed, odd};
  stack_.learn_names(main_.state());
  EXPECT_EQ(read(), "send main chunk ");
  EXPECT_EQ(recorder_.blocks.size(), 3u);
  EXPECT_NE(recorder_.block_named("C function"), 0u);
}

// Lua takes long to go to a level far down.
TEST_P(LuaStacks, OfADeepStackTheNewestAndTheOldestFunctionsAreNamed) {
  const Edge edge;
  std::vector<std::unique_ptr<Script>> scripts;
  std::vector<LuaLevel> levels;
  main_.call(chunk_);
  for (int i = 0; i < 600; ++i) {
    scripts.push_back(std::make_unique<Script>(1000 + i));
    main_.call(*scripts.back());
    levels.insert(levels.begin(), level_of("named", main_.newest(), scripts.back()->closure.at()));
  }
  LuaLevel chunk = level_of(nullptr, main_.base(), chunk_.closure.at());
  char* first = nullptr;
  std::memcpy(&first, main_.base() + kNext, sizeof first);
  chunk.call_info = first;
  levels.push_back(chunk);
  alignas(8) char reading[128] = {};
  fbleprof_frame frame;
  while (stack_.read(reading, &frame) == 1) {
  }
  lua_.levels = levels;
  stack_.learn_names(main_.state());
  EXPECT_EQ(recorder_.blocks[0].name, "named");
  const auto is_named = [&](int line) {
    for (const auto& block : recorder_.blocks) {
      if (block.line == static_cast<std::uint32_t>(line)) return block.name == "named";
    }
    return false;
  };
  EXPECT_TRUE(is_named(1599) && is_named(1344)) << "the newest 256";
  EXPECT_FALSE(is_named(1343) || is_named(1255));
  EXPECT_TRUE(is_named(1254) && is_named(1000)) << "the oldest 256, with the chunk";
}

TEST_P(LuaStacks, OldestFunctionsThatCannotBeReadStayUnnamed) {
  const Edge edge;
  std::vector<LuaLevel> levels;
  for (int i = 0; i < 300; ++i) {
    main_.call(f_);
    levels.insert(levels.begin(), level_of("named", main_.newest(), f_.closure.at()));
  }
  char* const nothing = edge.unreadable();
  std::memcpy(main_.base() + kNext, &nothing, sizeof nothing);
  read();
  lua_.levels = levels;
  stack_.learn_names(main_.state());
  EXPECT_EQ(recorder_.blocks[0].name, "named");
}

TEST_P(LuaStacks, OfAStackThatIsJustTooDeepEachFunctionIsAskedForOnce) {
  std::vector<std::unique_ptr<Script>> scripts;
  std::vector<LuaLevel> levels;
  for (int i = 0; i < 260; ++i) {
    scripts.push_back(std::make_unique<Script>(1000 + i));
    main_.call(*scripts.back());
    levels.insert(levels.begin(), level_of("named", main_.newest(), scripts.back()->closure.at()));
  }
  alignas(8) char reading[128] = {};
  fbleprof_frame frame;
  while (stack_.read(reading, &frame) == 1) {
  }
  lua_.levels = levels;
  stack_.learn_names(main_.state());
  for (const auto& block : recorder_.blocks) EXPECT_EQ(block.name, "named");
}

}  // namespace
}  // namespace fbleprof::adapters
