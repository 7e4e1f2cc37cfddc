// Names of Lua's functions and modules, and texts of limited length.
#include "adapters/lua_names.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "adapters/lua_mains.h"
#include "fake_lua.h"
#include "fake_recorder.h"

namespace fbleprof::adapters {
namespace {

int first(lua_State*) { return 0; }
int second(lua_State*) { return 0; }

std::uint64_t key_at(lua_State* state, int index) {
  return reinterpret_cast<std::uintptr_t>(lua.tocfunction(state, index));
}

std::string working_directory() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path);
}

TEST(ShortText, IsCutWhereItsRoomEnds) {
  Text text;
  EXPECT_TRUE(text.is_empty());
  text.add(nullptr).add(std::string(4000, 'a').c_str());
  EXPECT_FALSE(text.is_full());
  text.add(std::string(4000, 'b').c_str()).add(17);
  EXPECT_TRUE(text.is_full());
  EXPECT_EQ(text.text(), std::string(4000, 'a') + std::string(95, 'b'));
}

TEST(ShortText, HasNumbersOfEachSign) {
  Text text;
  text.add(0).add(" ").add(-25).add(" ").add(INT_MAX);
  EXPECT_STREQ(text.text(), "0 -25 2147483647");
}

TEST(LuaPaths, AreMadeAbsolute) {
  Text rooted, relative, dotted, hidden;
  add_path(rooted, "/a/b.lua");
  add_path(relative, "b.lua");
  add_path(dotted, "./b.lua");
  add_path(hidden, ".b.lua");
  EXPECT_STREQ(rooted.text(), "/a/b.lua");
  EXPECT_EQ(relative.text(), working_directory() + "/b.lua");
  EXPECT_EQ(dotted.text(), working_directory() + "/b.lua");
  EXPECT_EQ(hidden.text(), working_directory() + "/.b.lua");
}

TEST(LuaPaths, StayRelativeWithoutAWorkingDirectory) {
  in_child([] {
    char name[] = "/tmp/fbleprof-gone-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    ASSERT_EQ(chdir(name), 0);
    ASSERT_EQ(rmdir(name), 0);
    Text text;
    add_path(text, "b.lua");
    EXPECT_STREQ(text.text(), "b.lua");
    ASSERT_EQ(chdir("/"), 0);
  });
}

struct Called {
  const char* name;
  const char* name_what;
};

std::string name_of(const char* name, const char* name_what) {
  Text text;
  const Called called{name, name_what};
  return called_name(called, text) ? text.text() : "none";
}

TEST(LuaCalledName, AMetamethodHasItsUnderscores) {
  EXPECT_EQ(name_of(nullptr, ""), "none");
  EXPECT_EQ(name_of("f", "global"), "f");
  EXPECT_EQ(name_of("f", nullptr), "f");
  EXPECT_EQ(name_of("add", "metamethod"), "__add");
  EXPECT_EQ(name_of("__add", "metamethod"), "__add");
}

TEST(LuaNames, AFunctionWithoutANameHasThatOfTracebacks) {
  DebugOf54 debug{};
  debug.what = "Lua";
  std::strcpy(debug.short_source, "s.lua");
  debug.line_defined = 12;
  Text lua_function, c_function, chunk;
  name_by_place(debug, false, lua_function);
  name_by_place(debug, true, chunk);
  debug.what = "C";
  name_by_place(debug, false, c_function);
  EXPECT_STREQ(lua_function.text(), "function <s.lua:12>");
  EXPECT_STREQ(chunk.text(), "main chunk");
  EXPECT_STREQ(c_function.text(), "C function");
}

TEST(LuaNames, ATextThatWasCompiledIsItsOwnFile) {
  DebugOf52 debug{};
  debug.source = "return 1";
  std::strcpy(debug.short_source, "[string \"return 1\"]");
  Text text, path;
  file_of(debug, text);
  debug.source = "@/x.lua";
  file_of(debug, path);
  EXPECT_STREQ(text.text(), "[string \"return 1\"]");
  EXPECT_STREQ(path.text(), "/x.lua");
}

FakeRecorder::Block added(FakeRecorder& recorder, const char* source, int line, std::uint64_t key) {
  static Places places;
  const fbleprof_block block = add_function(source, line, key, places);
  EXPECT_NE(block, 0u);
  return recorder.blocks[block - 1];
}

TEST(LuaNames, AFunctionIsKnownByItsPlaceUntilItIsNamed) {
  FakeRecorder recorder;
  EXPECT_EQ(added(recorder, "@/a.lua", 0, 1).name, "main chunk");
  const auto f = added(recorder, "@/a.lua", 5, 2);
  EXPECT_EQ(f.name, "function </a.lua:5>");
  EXPECT_EQ(f.file, "/a.lua");
  EXPECT_EQ(f.line, 5u);
  EXPECT_EQ(f.language, "Lua");
  EXPECT_EQ(added(recorder, "@/a.lua", 5, 3).name, "function </a.lua:5> (2)");
  const auto named = added(recorder, "=stdin", 1, 4);
  EXPECT_EQ(named.name, "function <stdin:1>");
  EXPECT_EQ(named.file, "stdin");
  const auto text = added(recorder, "x = 1\ny = 2", 1, 5);
  EXPECT_EQ(text.name, "function <[string \"x = 1\"]:1>");
  EXPECT_EQ(text.file, "[string \"x = 1\"]");
}

LuaValue modules() {
  return LuaValue::table(
      {{LuaValue::number(), LuaValue::table()},
       {LuaValue::string("broken"), LuaValue::number()},
       {LuaValue::string("_G"),
        LuaValue::table({{LuaValue::string("print"), LuaValue::function(nullptr, first)}})},
       {LuaValue::string("io"),
        LuaValue::table({{LuaValue::number(), LuaValue::function(nullptr, second)},
                         {LuaValue::string("max"), LuaValue::number()},
                         {LuaValue::string("open"), LuaValue::function(nullptr, second)}})}});
}

TEST(LuaModules, NameTheirFunctions) {
  FakeRecorder recorder;
  FakeLua fake(504);
  fake.loaded = modules();
  fake.stack = {LuaValue::function(nullptr, second)};
  Text io, global, none;
  EXPECT_TRUE(module_name(nullptr, io));
  EXPECT_STREQ(io.text(), "io.open");
  fake.stack = {LuaValue::function(nullptr, first)};
  EXPECT_TRUE(module_name(nullptr, global));
  EXPECT_STREQ(global.text(), "print");
  fake.stack = {LuaValue::function(&io)};
  EXPECT_FALSE(module_name(nullptr, none));
  EXPECT_EQ(fake.stack.size(), 1u) << "the program's stack is as before";
}

TEST(LuaModules, AProgramMayHaveReplacedTheTableOfModules) {
  FakeRecorder recorder;
  FakeLua fake(504);
  fake.loaded = LuaValue::number();
  fake.stack = {LuaValue::function(nullptr, second)};
  Text none;
  EXPECT_FALSE(module_name(nullptr, none));
  name_c_functions(nullptr, key_at);
  EXPECT_TRUE(recorder.blocks.empty());
  EXPECT_EQ(fake.stack.size(), 1u);
}

TEST(LuaModules, RegisterTheirFunctionsOnce) {
  FakeRecorder recorder;
  FakeLua fake(503);
  fake.loaded = modules();
  name_c_functions(nullptr, key_at);
  name_c_functions(nullptr, key_at);
  ASSERT_EQ(recorder.blocks.size(), 2u);
  EXPECT_NE(recorder.block_named("print"), 0u);
  EXPECT_NE(recorder.block_named("io.open"), 0u);
  EXPECT_TRUE(fake.stack.empty());
}

TEST(LuaMainThreads, EightAreKept) {
  MainThreads threads{};
  const auto thread = [](int i) { return reinterpret_cast<lua_State*>(std::uintptr_t(64 * i)); };
  for (int i = 1; i <= 9; ++i) threads.add(thread(i));
  ASSERT_EQ(threads.count(), 8);
  threads.remove(thread(9));
  EXPECT_EQ(threads.count(), 8) << "it was not there";
  threads.add(thread(3));
  EXPECT_EQ(threads.count(), 8);
  EXPECT_EQ(threads[7], thread(3)) << "it is the newest now";
  for (int i = 1; i <= 8; ++i) threads.remove(thread(i));
  EXPECT_EQ(threads.count(), 0);
}

}  // namespace
}  // namespace fbleprof::adapters
