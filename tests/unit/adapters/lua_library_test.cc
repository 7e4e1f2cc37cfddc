// libfbleprof_lua.so itself, loaded into a program with a Lua: what it gives the interpreter to run
// first, its hooks, and the functions that stand before Lua's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/lua_api.h"
#include "fake_lua.h"
#include "fake_recorder.h"
#include "memory.h"
#include "tests/support/no_resources.h"

namespace fbleprof::adapters {

void set_new_state(lua_State* state);

namespace {

int programs_hooks;
void programs_hook(lua_State*, void*) { ++programs_hooks; }
int other_results(lua_State*) { return 3; }
int of_c(lua_State*) { return 0; }

// Each test runs in a process of its own, because the library begins once.
class LuaLibrary : public testing::Test {
 protected:
  void load(bool is_exact) {
    setenv("FBLEPROF_EXACT", is_exact ? "on" : "off", 1);
    handle_ = dlopen(LUA_ADAPTER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    lua_.debug = LuaValue::table({{LuaValue::string("sethook"), original("sethook")},
                                  {LuaValue::string("gethook"), original("gethook")}});
  }
  static LuaValue original(const char*) { return LuaValue::function(nullptr, other_results); }
  template <typename Function>
  Function* find(const char* name) {
    void* found = dlsym(handle_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function*>(found);
  }
  // What the interpreter gets for a variable; "none": it is not set.
  std::string variable(const char* name) {
    const char* value = find<char*(const char*)>("getenv")(name);
    return value ? value : "none";
  }
  std::string own_text() {
    return "package.loadlib(\"" LUA_ADAPTER "\",\"fbleprof_lua_start\")() ";
  }
  void start() { find<int(lua_State*)>("fbleprof_lua_start")(state()); }
  void make_state() {
    find<lua_State*(void*, void*, unsigned)>("lua_newstate")(nullptr, nullptr, 0);
  }
  lua_State* state() { return reinterpret_cast<lua_State*>(state_.at()); }
  LuaFunction of_debug(const char* name) {
    for (const auto& [key, value] : *lua_.debug.fields) {
      if (key.text == name) return value.code;
    }
    return nullptr;
  }

  // An event of the hook, in a call of a function of C.
  void event(int what, const CallInfo& call, lua_State* of = nullptr) {
    DebugOf54 debug{};
    debug.event = what;
    debug.call_info = const_cast<CallInfo*>(&call);
    lua_.hook(of ? of : state(), &debug);
  }
  // A call of this name, by `caller`.
  CallInfo& make_call(const char* name, CallInfo* caller, LuaFunction code) {
    slots_.push_back(
        std::make_unique<StackSlot>(StackSlot{reinterpret_cast<const char*>(code), kCFunction}));
    calls_.push_back(std::make_unique<CallInfo>(CallInfo{slots_.back().get(), nullptr, caller}));
    LuaLevel level;
    level.name = name;
    level.what = "C";
    level.source = "=[C]";
    level.call_info = calls_.back().get();
    level.function = LuaValue::function(nullptr, code);
    lua_.levels.push_back(level);
    return *calls_.back();
  }

  FakeRecorder recorder_;
  FakeLua lua_{504};
  Raw state_{512};
  void* handle_ = nullptr;
  std::vector<std::unique_ptr<StackSlot>> slots_;
  std::vector<std::unique_ptr<CallInfo>> calls_;
  CallInfo base_{};
};

// -- The text that the interpreter runs first --

TEST_F(LuaLibrary, OtherVariablesAreAsTheyAre) {
  in_child([this] {
    load(true);
    setenv("LANGUAGE_OF_TEST", "Lua", 1);
    unsetenv("LUA_PATH");
    EXPECT_EQ(variable("LANGUAGE_OF_TEST"), "Lua");
    EXPECT_EQ(variable("LUA_PATH"), "none");
    EXPECT_EQ(variable("FBLEPROF_EXACT"), "on");
  });
}

TEST_F(LuaLibrary, TheInterpreterIsGivenOurCallOnce) {
  in_child([this] {
    load(true);
    unsetenv("LUA_INIT");
    EXPECT_EQ(variable("LUA_INIT_5_3"), "none") << "of another version";
    EXPECT_EQ(variable("LUA_INIT_5_44"), "none");
    EXPECT_EQ(variable("LUA_INIT_ELSE"), "none");
    EXPECT_EQ(variable("LUA_INIT_5_4"), own_text());
    EXPECT_EQ(variable("LUA_INIT"), "none") << "the script asks";
  });
}

TEST_F(LuaLibrary, TheUsersTextFollowsUnderItsOwnName) {
  in_child([this] {
    load(true);
    setenv("LUA_INIT", "x = 1", 1);
    EXPECT_EQ(variable("LUA_INIT_5_4"), "none") << "so the interpreter asks for LUA_INIT";
    EXPECT_EQ(variable("LUA_INIT"), own_text() + "x = 1");
  });
}

TEST_F(LuaLibrary, TheUsersFileIsRun) {
  in_child([this] {
    load(true);
    setenv("LUA_INIT_5_4", "@/a\\b\"c.lua", 1);
    EXPECT_EQ(variable("LUA_INIT_5_4"), own_text() + "dofile(\"/a\\\\b\\\"c.lua\")");
  });
}

TEST_F(LuaLibrary, ATextThatIsTooLongForOursRunsAlone) {
  in_child([this] {
    load(true);
    const std::string text = "-- " + std::string(5000, 'x');
    setenv("LUA_INIT", text.c_str(), 1);
    EXPECT_EQ(variable("LUA_INIT"), text);
  });
}

// -- Counting by hooks --

TEST_F(LuaLibrary, CallsAreEnteredAndLeft) {
  in_child([this] {
    load(true);
    start();
    ASSERT_NE(lua_.hook, nullptr);
    CallInfo &f = make_call("f", &base_, of_c), &g = make_call("g", &f, other_results);
    event(kCall, f);
    event(kCall, g);
    event(kReturn, g);
    event(kTailCall, f);
    event(3, f);
    event(kReturn, f);
    event(kTailCall, f);
    event(kReturn, f);
    event(kReturn, f);
    EXPECT_EQ(recorder_.take_events(),
              "switch to 0\nenter f\nenter g\nleave g\nreplace f\nleave f\nenter f\nleave f\n");
  });
}

TEST_F(LuaLibrary, ACoroutineHasAContextOfItsOwn) {
  in_child([this] {
    load(true);
    start();
    Raw other(512);
    auto* coroutine = reinterpret_cast<lua_State*>(other.at());
    CallInfo &f = make_call("f", &base_, of_c), &g = make_call("g", &base_, other_results);
    CallInfo& odd = make_call("odd", nullptr, of_c);
    event(kCall, f);
    event(kCall, g, coroutine);
    event(kReturn, g, coroutine);
    event(kReturn, f);
    event(kCall, odd, coroutine);
    EXPECT_EQ(recorder_.take_events(),
              "switch to 0\nenter f\nswitch to 1\nenter g\nleave g\nswitch to 0\nleave f\n"
              "switch to 1\nenter f\n");
  });
}

TEST_F(LuaLibrary, AnUnexpectedLayoutOfMemoryEndsTheCounting) {
  in_child([this] {
    load(true);
    start();
    CallInfo& f = make_call("f", &base_, of_c);
    lua_.levels[0].what = "Lua";
    event(kCall, f);
    EXPECT_EQ(lua_.hook, nullptr) << "the program's own: none";
    EXPECT_EQ(recorder_.take_events(), "switch to 0\n");
  });
}

TEST_F(LuaLibrary, AThreadsEndGivesItsContextsBack) {
  in_child([this] {
    load(true);
    start();
    Raw other(512);
    auto* coroutine = reinterpret_cast<lua_State*>(other.at());
    CallInfo& f = make_call("f", &base_, of_c);
    std::thread([&] {
      event(kCall, f);
      event(kCall, f, coroutine);
      EXPECT_EQ(recorder_.contexts.size(), 1u);
    }).join();
    EXPECT_TRUE(recorder_.contexts.empty());
  });
}

TEST_F(LuaLibrary, AStatesEndGivesItsContextsBack) {
  in_child([this] {
    load(true);
    start();
    Raw other(512);
    other.put(kGlobalOfState, &other);
    auto* coroutine = reinterpret_cast<lua_State*>(other.at());
    CallInfo& f = make_call("f", &base_, of_c);
    event(kCall, f, coroutine);
    recorder_.take_events();
    EXPECT_EQ(lua_.closures.back()(coroutine), 0);
    EXPECT_EQ(recorder_.take_events(), "switch to 0\n");
  });
}

TEST_F(LuaLibrary, WithoutMemoryNothingIsCounted) {
  in_child([this] {
    load(true);
    start();
    const LuaHook hook = lua_.hook;
    CallInfo& f = make_call("f", &base_, of_c);
    recorder_.take_events();
    std::thread([&] {
      DebugOf54 debug{};
      debug.call_info = &f;
      const test::NoMemoryLeft none;
      hook(state(), &debug);
    }).join();
    EXPECT_EQ(recorder_.take_events(), "");
    // In a coroutine that is not known yet.
    Raw other(512);
    {
      const test::NoMemoryLeft none;
      event(kCall, f, reinterpret_cast<lua_State*>(other.at()));
    }
    EXPECT_EQ(recorder_.take_events(), "");
    event(kCall, f);
    EXPECT_EQ(recorder_.take_events(), "enter f\n");
  });
}

TEST_F(LuaLibrary, WithoutMemoryASecondStateIsNotBegun) {
  in_child([this] {
    load(true);
    lua_.stack.reserve(100);
    auto* begin = find<int(lua_State*)>("fbleprof_lua_start");
    begin(state());
    lua_.hook = nullptr;
    Raw other(512);
    {
      const test::NoMemoryLeft none;
      begin(reinterpret_cast<lua_State*>(other.at()));
    }
    EXPECT_EQ(lua_.hook, nullptr);
  });
}

TEST_F(LuaLibrary, WithoutMemoryNothingIsBegun) {
  for (const bool is_exact : {true, false}) {
    in_child([this, is_exact] {
      load(is_exact);
      lua_.stack.reserve(100);
      auto* begin = find<int(lua_State*)>("fbleprof_lua_start");
      {
        const test::NoMemoryLeft none;
        begin(state());
      }
      EXPECT_EQ(lua_.hook, nullptr);
      EXPECT_EQ(recorder_.reader, nullptr);
    });
  }
}

// -- Sampling --

TEST_F(LuaLibrary, ALuaThatIsNotAsExpectedIsNotSampled) {
  in_child([this] {
    load(false);
    lua_.load_result = 3;
    start();
    EXPECT_EQ(recorder_.reader, nullptr);
    EXPECT_TRUE(lua_.stack.empty());
  });
}

// The calls of the check that the adapter makes first, and then of a script.
class LuaSampling : public LuaLibrary {
 protected:
  static constexpr std::size_t kKind = 8, kCall = 32, kBase = 96, kStatusOfCall = 62;
  static constexpr std::uint8_t kFresh = 4;

  LuaSampling() {
    prototype_.put(44, 1).put(112, source_.at()).put(64, source_.at());
    closure_.put(kPrototypeOfClosure, prototype_.at());
    slot_ = {closure_.at(), kLuaFunction};
    c_slot_ = {reinterpret_cast<const char*>(of_c), kCFunction};
    std::memcpy(source_.at(24), "@/s.lua", 8);
    script_.put(0, &slot_)
        .put(16, state_.at(kBase))
        .put(24, newest_.at())
        .put(kStatusOfCall, kFresh);
    newest_.put(0, &c_slot_).put(16, script_.at());
    state_.put(kKind, std::uint8_t{8}).put(kCall, newest_.at());
    LuaLevel ours, line;
    ours.call_info = newest_.at();
    line.call_info = script_.at();
    lua_.levels = {ours, line};
    recorder_.callers = {{this, &lua_}, {this, &recorder_}};
  }
  int read() {
    alignas(8) char reading[128] = {};
    fbleprof_frame frame;
    return recorder_.reader(reading, &frame);
  }

  Raw script_, newest_, closure_, prototype_, source_;
  StackSlot slot_, c_slot_;
};

TEST_F(LuaSampling, AStateIsReadOnlyByTheThreadThatRunsIt) {
  in_child([this] {
    load(false);
    start();
    ASSERT_NE(recorder_.reader, nullptr);
    EXPECT_EQ(read(), 1);
    std::thread([this] { EXPECT_EQ(read(), 0); }).join();
    // Lua is asked for names, and answers in the thread that has it.
    const LuaHook ask = lua_.hook;
    ASSERT_NE(ask, nullptr);
    std::thread([&] { ask(state(), nullptr); }).join();
    EXPECT_EQ(lua_.hook, ask);
    ask(state(), nullptr);
    EXPECT_EQ(lua_.hook, nullptr);
    // Its end is noted there, too.
    const LuaFunction forget = lua_.closures.back();
    std::thread([&] { EXPECT_EQ(forget(state()), 0); }).join();
    EXPECT_EQ(read(), 1);
    EXPECT_EQ(forget(state()), 0);
    EXPECT_EQ(read(), 0);
  });
}

TEST_F(LuaSampling, AScriptThatLooksForAHookDoesNotFindOurs) {
  in_child([this] {
    load(false);
    start();
    read();
    ASSERT_NE(lua_.hook, nullptr);
    lua_.stack = {LuaValue::number()};
    EXPECT_EQ(of_debug("gethook")(state()), 3);
    EXPECT_EQ(lua_.hook, nullptr);
  });
}

TEST_F(LuaSampling, ASecondStateNeedsNoSecondCheck) {
  in_child([this] {
    load(false);
    start();
    recorder_.reader = nullptr;
    lua_.load_result = 3;
    start();
    EXPECT_EQ(recorder_.reader, nullptr);
    EXPECT_TRUE(lua_.stack.empty());
  });
}

// -- The program's own hooks --

TEST_F(LuaLibrary, AScriptWithoutDebugIsLeftAlone) {
  in_child([this] {
    load(true);
    lua_.debug = LuaValue::number();
    start();
    EXPECT_NE(lua_.hook, nullptr);
    EXPECT_TRUE(lua_.stack.empty());
  });
  in_child([this] {
    load(true);
    lua_.debug = LuaValue::table();
    start();
    EXPECT_NE(lua_.hook, nullptr);
  });
}

TEST_F(LuaLibrary, AScriptsHookIsCalledFromOurs) {
  in_child([this] {
    load(true);
    start();
    const LuaFunction set = of_debug("sethook"), get = of_debug("gethook");
    ASSERT_NE(set, other_results);
    ASSERT_NE(get, other_results);
    // debug.sethook itself sets it in Lua, and ours takes its place.
    lua_.hook = programs_hook;
    lua_.hook_mask = 1 << kCall;
    lua_.stack = {LuaValue::number()};
    EXPECT_EQ(set(state()), 3);
    EXPECT_NE(lua_.hook, programs_hook);
    CallInfo& f = make_call("f", &base_, of_c);
    programs_hooks = 0;
    event(kCall, f);
    event(kTailCall, f);
    event(kReturn, f);
    EXPECT_EQ(programs_hooks, 2) << "it did not ask for returns";
    EXPECT_EQ(get(state()), 3);
    EXPECT_NE(lua_.hook, programs_hook);
    lua_.hook = nullptr;
    EXPECT_EQ(get(state()), 3) << "another one was set behind our back";
    EXPECT_EQ(lua_.hook, nullptr);
  });
}

TEST_F(LuaLibrary, AScriptMaySetTheHookOfACoroutine) {
  in_child([this] {
    load(true);
    start();
    Raw other(512);
    lua_.hook = programs_hook;
    lua_.hook_mask = 1 << kReturn;
    lua_.stack = {LuaValue::thread(other.at())};
    EXPECT_EQ(of_debug("sethook")(state()), 3);
    EXPECT_NE(lua_.hook, programs_hook);
    EXPECT_EQ(lua_.hook_mask & 0xf, kMaskOfCalls);
  });
}

TEST_F(LuaLibrary, ASampledScriptSetsItsHookItself) {
  in_child([this] {
    load(false);
    start();
    const LuaFunction set = of_debug("sethook"), get = of_debug("gethook");
    lua_.stack = {LuaValue::number()};
    lua_.hook = programs_hook;
    EXPECT_EQ(set(state()), 3);
    EXPECT_EQ(get(state()), 3);
    EXPECT_EQ(lua_.hook, programs_hook);
  });
}

// -- A program with liblua --

TEST_F(LuaLibrary, ANewStateIsCountedFromItsBeginning) {
  in_child([this] {
    load(true);
    auto* make = find<lua_State*(void*, void*, unsigned)>("lua_newstate");
    set_new_state(nullptr);
    EXPECT_EQ(make(nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(lua_.hook, nullptr);
    set_new_state(state());
    EXPECT_EQ(make(nullptr, nullptr, 0), state());
    EXPECT_NE(lua_.hook, nullptr);
  });
}

TEST_F(LuaLibrary, TheProgramSeesOnlyItsOwnHook) {
  in_child([this] {
    load(true);
    auto* set = find<void(lua_State*, LuaHook, int, int)>("lua_sethook");
    auto* get = find<LuaHook(lua_State*)>("lua_gethook");
    auto* mask = find<int(lua_State*)>("lua_gethookmask");
    auto* count = find<int(lua_State*)>("lua_gethookcount");
    // Before a state was made through us.
    set(state(), programs_hook, 4, 5);
    EXPECT_EQ(lua_.hook, programs_hook);
    EXPECT_EQ(get(state()), programs_hook);
    EXPECT_EQ(mask(state()), 4);
    EXPECT_EQ(count(state()), 5);
    set_new_state(state());
    make_state();
    const LuaHook ours = lua_.hook;
    EXPECT_NE(ours, programs_hook);
    EXPECT_EQ(get(state()), nullptr);
    EXPECT_EQ(mask(state()), 0);
    EXPECT_EQ(count(state()), 0);
    set(state(), programs_hook, 1 << kReturn, 0);
    EXPECT_NE(lua_.hook, programs_hook);
    EXPECT_EQ(get(state()), programs_hook);
    EXPECT_EQ(mask(state()), 1 << kReturn);
    EXPECT_EQ(count(state()), 0);
    set(state(), programs_hook, 0, 0);
    EXPECT_EQ(get(state()), nullptr) << "without events there is no hook";
    set(state(), nullptr, 7, 0);
    EXPECT_EQ(get(state()), nullptr);
    EXPECT_EQ(lua_.hook, ours);
    // A hook that was set without us is shown.
    lua_.hook = programs_hook;
    lua_.hook_mask = 2;
    lua_.hook_count = 9;
    EXPECT_EQ(get(state()), programs_hook);
    EXPECT_EQ(mask(state()), 2);
    EXPECT_EQ(count(state()), 9);
  });
}

TEST_F(LuaLibrary, ASampledProgramSetsItsHookItself) {
  in_child([this] {
    load(false);
    set_new_state(state());
    make_state();
    find<void(lua_State*, LuaHook, int, int)>("lua_sethook")(state(), programs_hook, 4, 5);
    EXPECT_EQ(lua_.hook, programs_hook);
    EXPECT_EQ(lua_.hook_mask, 4);
  });
}

TEST_F(LuaLibrary, AHookHoldsInAnyThread) {
  in_child([this] {
    load(true);
    set_new_state(state());
    make_state();
    auto* set = find<void(lua_State*, LuaHook, int, int)>("lua_sethook");
    CallInfo& f = make_call("f", &base_, of_c);
    std::thread([&] { set(state(), programs_hook, 1 << kCall, 0); }).join();
    programs_hooks = 0;
    event(kCall, f);
    std::thread([&] { event(kCall, f); }).join();
    std::thread([&] {
      const test::NoMemoryLeft none;
      event(kCall, f);
    }).join();
    EXPECT_EQ(programs_hooks, 3);
  });
}

template <int number>
void one_of_many(lua_State*, void*) {
  programs_hooks = number;
}
template <int... number>
std::vector<LuaHook> many(std::integer_sequence<int, number...>) {
  return {one_of_many<number>...};
}

TEST_F(LuaLibrary, TheLastOfTooManyFunctionsIsLuasOwn) {
  in_child([this] {
    load(true);
    set_new_state(state());
    make_state();
    auto* set = find<void(lua_State*, LuaHook, int, int)>("lua_sethook");
    auto* get = find<LuaHook(lua_State*)>("lua_gethook");
    const std::vector<LuaHook> functions = many(std::make_integer_sequence<int, 16>());
    CallInfo& f = make_call("f", &base_, of_c);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 15; ++i) {
        set(state(), functions[i], 1 << kCall, 0);
        event(kCall, f);
        EXPECT_EQ(programs_hooks, i);
        EXPECT_NE(lua_.hook, functions[i]);
        EXPECT_EQ(get(state()), functions[i]);
      }
    }
    set(state(), functions[15], 1 << kCall, 7);
    EXPECT_EQ(lua_.hook, functions[15]);
    EXPECT_EQ(lua_.hook_mask, 1 << kCall);
    EXPECT_EQ(lua_.hook_count, 7);
    EXPECT_EQ(get(state()), functions[15]);
    set(state(), nullptr, 0, 0);
    EXPECT_NE(lua_.hook, nullptr) << "it is counted again";
  });
}

}  // namespace
}  // namespace fbleprof::adapters
