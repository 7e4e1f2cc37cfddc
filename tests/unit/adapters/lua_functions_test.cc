// The blocks of the functions that Lua's hooks report.
#include "adapters/lua_functions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_lua.h"
#include "fake_recorder.h"
#include "memory.h"
#include "tests/support/no_resources.h"

namespace fbleprof::adapters {
namespace {

int code_of_c(lua_State*) { return 0; }
int other_code_of_c(lua_State*) { return 0; }

class LuaFunctionsOfHooks : public testing::TestWithParam<int> {
 protected:
  LuaFunctionsOfHooks() { make_lua_function(closure_, prototype_, 1); }

  void make_lua_function(Raw& closure, Raw& prototype, int line) {
    prototype.put(lua.layout.line_defined, line).put(lua.layout.source, source_.at());
    prototype.put(8, static_cast<std::uint8_t>(lua.version == 504 ? 10 : 9)).put(9, kMarks);
    closure.put(kPrototypeOfClosure, prototype.at());
  }

  // The block for a call that Lua describes as `level` does.
  std::string block_of(LuaLevel level, StackSlot slot) {
    CallInfo call{&slot, nullptr, nullptr};
    level.call_info = &call;
    lua_.levels = {level};
    const std::uint32_t block = ask(&call);
    EXPECT_TRUE(lua_.stack.empty());
    return recorder_.name_of(block);
  }
  std::uint32_t ask(CallInfo* call) {
    if (GetParam() == 504) return ask_with(DebugOf54{}, call);
    return ask_with(DebugOf52{}, call);
  }
  template <typename Debug>
  std::uint32_t ask_with(Debug debug, CallInfo* call) {
    debug.call_info = call;
    return functions_.block_of(nullptr, &debug, call);
  }

  StackSlot lua_slot(Raw& closure) { return {closure.at(), kLuaFunction | 0x40}; }
  LuaLevel lua_level(const char* name, Raw& closure) {
    LuaLevel level;
    level.name = name;
    level.function = LuaValue::function(closure.at());
    return level;
  }
  LuaLevel c_level(const char* name, LuaFunction code) {
    LuaLevel level;
    level.name = name;
    level.what = "C";
    level.source = "=[C]";
    level.line = level.last_line = -1;
    level.function = LuaValue::function(nullptr, code);
    return level;
  }

  static constexpr std::uint8_t kMarks = 0x21;  // of Lua's collector

  FakeRecorder recorder_;
  FakeLua lua_{GetParam()};
  Raw closure_, prototype_, source_;
  LuaFunctions& functions_ = *static_cast<LuaFunctions*>(calloc(1, sizeof(LuaFunctions)));
};
INSTANTIATE_TEST_SUITE_P(Versions, LuaFunctionsOfHooks, testing::Values(502, 503, 504));

TEST_P(LuaFunctionsOfHooks, AFunctionHasTheNameByWhichItIsCalled) {
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "f");
  EXPECT_EQ(block_of(lua_level("g", closure_), lua_slot(closure_)), "f") << "its first name";
  ASSERT_EQ(recorder_.blocks.size(), 1u);
  EXPECT_EQ(recorder_.blocks[0].file, "/s.lua");
  EXPECT_EQ(recorder_.blocks[0].line, 1u);
}

TEST_P(LuaFunctionsOfHooks, ALaterCallMayTellAName) {
  const std::string place = "function <s.lua:1>";
  EXPECT_EQ(block_of(lua_level(nullptr, closure_), lua_slot(closure_)), place);
  EXPECT_EQ(block_of(lua_level(nullptr, closure_), lua_slot(closure_)), place);
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "f");
  EXPECT_EQ(recorder_.blocks.size(), 1u);
}

TEST_P(LuaFunctionsOfHooks, AfterSomeCallsWithoutANameNoneIsLookedFor) {
  for (int i = 0; i < 40; ++i) block_of(lua_level(nullptr, closure_), lua_slot(closure_));
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "function <s.lua:1>");
}

TEST_P(LuaFunctionsOfHooks, TwoFunctionsOfOneNameAndLineAreNumbered) {
  Raw closure, prototype;
  make_lua_function(closure, prototype, 1);
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "f");
  lua_.dumped = "other code";
  EXPECT_EQ(block_of(lua_level("f", closure), lua_slot(closure)), "f (2)");
}

TEST_P(LuaFunctionsOfHooks, ASourceThatWasCompiledTwiceIsOneFunction) {
  Raw closure, prototype;
  make_lua_function(closure, prototype, 1);
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "f");
  EXPECT_EQ(block_of(lua_level("g", closure), lua_slot(closure)), "f");
  EXPECT_EQ(recorder_.blocks.size(), 1u);
}

TEST_P(LuaFunctionsOfHooks, AChunkIsTheMainChunkWhateverItsName) {
  prototype_.put(lua.layout.line_defined, 0);
  LuaLevel level = lua_level("f", closure_);
  level.what = "main";
  level.line = 0;
  EXPECT_EQ(block_of(level, lua_slot(closure_)), "main chunk");
  EXPECT_EQ(recorder_.blocks[0].line, 0u);
}

TEST_P(LuaFunctionsOfHooks, APrototypeAtAnOldAddressIsAnotherFunction) {
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "f");
  prototype_.put(lua.layout.line_defined, 30);
  LuaLevel level = lua_level("g", closure_);
  level.line = 30;
  EXPECT_EQ(block_of(level, lua_slot(closure_)), "g");
  Raw source;
  prototype_.put(lua.layout.source, source.at());
  level.name = "h";
  level.source = "@/t.lua";
  EXPECT_EQ(block_of(level, lua_slot(closure_)), "h");
}

TEST_P(LuaFunctionsOfHooks, APrototypeInAllBytesOfADeadOneIsAnotherFunction) {
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "f");
  EXPECT_EQ(prototype_.get<std::uint8_t>(9), kMarks | 0x80) << "the collector's own bits stay";
  prototype_.put(9, kMarks);  // as Lua makes it
  lua_.dumped = "other constants";
  EXPECT_EQ(block_of(lua_level("g", closure_), lua_slot(closure_)), "g");
  prototype_.put(9, kMarks);
  lua_.dumped = "code";
  EXPECT_EQ(block_of(lua_level("h", closure_), lua_slot(closure_)), "f");
  EXPECT_EQ(recorder_.blocks.size(), 2u);
}

TEST_P(LuaFunctionsOfHooks, WhatIsNoPrototypeIsNotMarked) {
  prototype_.put(8, std::uint8_t{6});
  EXPECT_EQ(block_of(lua_level("f", closure_), lua_slot(closure_)), "none");
  EXPECT_TRUE(functions_.is_wrong());
  EXPECT_EQ(prototype_.get<std::uint8_t>(9), kMarks);
}

TEST_P(LuaFunctionsOfHooks, ACFunctionHasItsModulesName) {
  lua_.loaded = LuaValue::table(
      {{LuaValue::string("io"),
        LuaValue::table({{LuaValue::string("open"), LuaValue::function(nullptr, code_of_c)}})}});
  const StackSlot plain{reinterpret_cast<const char*>(code_of_c), kCFunction};
  EXPECT_EQ(block_of(c_level("f", code_of_c), plain), "io.open");
  EXPECT_EQ(recorder_.blocks[0].file, "");
  Raw closure;
  closure.put(kCodeOfCClosure, other_code_of_c);
  const StackSlot with_upvalues{closure.at(), kCClosure};
  EXPECT_EQ(block_of(c_level("f", other_code_of_c), with_upvalues), "f");
}

TEST_P(LuaFunctionsOfHooks, ACFunctionWithoutAnyNameIsSaidToBeOne) {
  const StackSlot slot{reinterpret_cast<const char*>(code_of_c), kCFunction};
  EXPECT_EQ(block_of(c_level(nullptr, code_of_c), slot), "C function");
}

TEST_P(LuaFunctionsOfHooks, MemoryUnlikeTheApisAnswersIsNotTrusted) {
  LuaLevel level = lua_level("f", closure_);
  level.line = 77;
  EXPECT_EQ(block_of(level, lua_slot(closure_)), "none");
  EXPECT_TRUE(functions_.is_wrong());
}

TEST_P(LuaFunctionsOfHooks, AFunctionThatIsNoneOfLuaIsNotTrusted) {
  LuaLevel level = lua_level("f", closure_);
  level.what = "C";
  EXPECT_EQ(block_of(level, lua_slot(closure_)), "none");
  EXPECT_TRUE(functions_.is_wrong());
}

TEST_P(LuaFunctionsOfHooks, AnotherClosureThanTheApisIsNotTrusted) {
  LuaLevel level = lua_level("f", closure_);
  level.function = LuaValue::function(&level);
  EXPECT_EQ(block_of(level, lua_slot(closure_)), "none");
  EXPECT_TRUE(functions_.is_wrong());
}

TEST_P(LuaFunctionsOfHooks, ThousandsAreKnown) {
  std::vector<Raw> closures(3000, Raw(32)), prototypes(3000, Raw(128));
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < closures.size(); ++i) {
      const int line = static_cast<int>(i) + 1;
      make_lua_function(closures[i], prototypes[i], line);
      LuaLevel level = lua_level("f", closures[i]);
      level.line = line;
      const auto before = recorder_.blocks.size();
      EXPECT_EQ(block_of(level, lua_slot(closures[i])), "f");
      EXPECT_EQ(recorder_.blocks.size(), round == 0 ? before + 1 : before);
    }
  }
}

TEST_P(LuaFunctionsOfHooks, WithoutMemoryTheFunctionsThatFitAreKnown) {
  in_child([this] {
    const auto slot = lua_slot(closure_);
    {
      StackSlot at = slot;
      CallInfo call{&at, nullptr, nullptr};
      const test::NoMemoryLeft shortage;
      EXPECT_EQ(ask(&call), 0u) << "there is no table";
    }
    // A full table that cannot grow still finds what is in it.
    std::vector<Raw> closures(1100, Raw(32)), prototypes(1100, Raw(128));
    std::size_t count = 0;
    const auto add = [&] {
      const int line = static_cast<int>(count) + 1;
      make_lua_function(closures[count], prototypes[count], line);
      LuaLevel level = lua_level("f", closures[count]);
      level.line = line;
      return block_of(level, lua_slot(closures[count++]));
    };
    while (count < 683) EXPECT_EQ(add(), "f");
    std::uint32_t known = 0;
    StackSlot at = lua_slot(closures[0]);
    CallInfo call{&at, nullptr, nullptr};
    {
      const test::NoMemoryLeft shortage;
      known = ask(&call);
    }
    EXPECT_EQ(known, 1u);
  });
}

}  // namespace
}  // namespace fbleprof::adapters
