// Which Lua the adapter finds in a process, by the functions that each version has.
#include "adapters/lua_api.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "fake_recorder.h"
#include "library_copy.h"

// As the adapter does, this program has a function of this name itself.
extern "C" __attribute__((visibility("default"))) void lua_sethook();
static int own_calls = 0;
void lua_sethook() { ++own_calls; }

namespace fbleprof::adapters {
namespace {

using Names = std::vector<std::string>;

// The version that is found in a process with a Lua that lacks these functions; 0: none.
void expect_version(int version, const Names& without) {
  in_child([&] {
    const LibraryCopy library(FAKE_LUA, without);
    EXPECT_EQ(find_lua(library.find("lua_gettop")), version != 0);
    EXPECT_EQ(find_lua(nullptr), version != 0) << "it is looked for once";
    EXPECT_EQ(lua.version, version);
    if (version == 0) return;
    EXPECT_EQ(lua.is_jit(), version == 501);
    EXPECT_EQ(reinterpret_cast<void*>(lua.sethook), library.find("lua_sethook"))
        << "not the program's own";
  });
}

const Names kNoJit = {"luaJIT_setmode"};
Names and_also(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}
const Names kOf53 = and_also(kNoJit, {"lua_toclose"});
const Names kOf52 = and_also(kOf53, {"lua_isyieldable"});

TEST(LuaVersion, IsKnownByTheFunctionsThatItAdded) {
  expect_version(501, {});
  expect_version(504, kNoJit);
  expect_version(503, kOf53);
  expect_version(502, kOf52);
}

TEST(LuaVersion, ThePlainOneOf51IsNotKnown) { expect_version(0, and_also(kOf52, {"lua_callk"})); }

TEST(LuaVersion, ALuaThatLacksAFunctionIsNotUsed) {
  expect_version(0, and_also(kNoJit, {"lua_rawsetp"}));
  expect_version(0, and_also(kNoJit, {"lua_newuserdatauv"}));
  expect_version(504, and_also(kNoJit, {"lua_newuserdata"}));
  expect_version(0, and_also(kOf53, {"lua_newuserdata"}));
  expect_version(503, and_also(kOf53, {"lua_newuserdatauv"}));
  expect_version(501, {"lua_rawsetp", "lua_pcallk", "lua_getglobal"});
  expect_version(0, {"lua_resume"});
  expect_version(502, and_also(kOf52, {"lua_resume"}));
}

TEST(LuaVersion, WithoutALuaThereIsNone) {
  in_child([] {
    int local = 0;
    EXPECT_EQ(function_of_lua("lua_sethook", nullptr), nullptr) << "only the program's own";
    EXPECT_EQ(function_of_lua("lua_sethook", &local), nullptr) << "in no library";
    EXPECT_EQ(function_of_lua("lua_sethook", &lua), nullptr);
    EXPECT_FALSE(find_lua(nullptr));
    EXPECT_EQ(lua.version, 0);
  });
}

// libfbleprof_lua.so is loaded into programs of which it is only thought that they have a Lua.
TEST(LuaVersion, WithoutAKnownLuaTheLibraryDoesNothing) {
  in_child([] {
    const FakeRecorder recorder;
    void* library = dlopen(LUA_ADAPTER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto call = [library](const char* name, auto function, auto... arguments) {
      void* found = dlsym(library, name);
      EXPECT_NE(found, nullptr) << name;
      return reinterpret_cast<decltype(function)>(found)(arguments...);
    };
    using GetEnv = char* (*)(const char*);
    using OfState = void* (*)(void*);
    using Number = int (*)(void*);
    using SetHook = void (*)(void*, void*, int, int);
    setenv("LUA_INIT", "x = 1", 1);
    EXPECT_STREQ(call("getenv", GetEnv(), "LUA_INIT"), "x = 1");
    EXPECT_EQ(call("fbleprof_lua_start", Number(), &library), 0);
    EXPECT_EQ(call("lua_newstate", OfState(), &library), nullptr);
    EXPECT_EQ(call("lua_gethook", OfState(), &library), nullptr);
    EXPECT_EQ(call("lua_gethookmask", Number(), &library), 0);
    EXPECT_EQ(call("lua_gethookcount", Number(), &library), 0);
    call("lua_sethook", SetHook(), &library, nullptr, 0, 0);
    EXPECT_EQ(own_calls, 1) << "the next definition, which is not that of a known Lua";
  });
}

}  // namespace
}  // namespace fbleprof::adapters
