// Prototypes, sources and keys of Lua's functions, read from memory that may be damaged.
#include "adapters/lua_prototypes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_lua.h"
#include "fake_recorder.h"
#include "memory.h"

namespace fbleprof::adapters {
namespace {

constexpr std::size_t kText = 24;  // of a string

Raw string_of(const std::string& text) {
  Raw string(kText + text.size() + 9);
  std::memcpy(string.at(kText), text.c_str(), text.size() + 1);
  return string;
}

Source source_of(const std::string& text) {
  Source source;
  Raw string = string_of(text);
  EXPECT_TRUE(source.read(string.at()));
  return source;
}

TEST(LuaSource, AShortTextIsWhole) {
  FakeRecorder recorder;
  EXPECT_STREQ(source_of("@s.lua").bytes, "@s.lua");
  EXPECT_STREQ(source_of("@seven.lua").bytes, "@seven.lua");
  EXPECT_STREQ(source_of("").bytes, "");
}

TEST(LuaSource, ALongTextIsCut) {
  FakeRecorder recorder;
  const Source source = source_of(std::string(5000, 'x'));
  EXPECT_GE(std::strlen(source.bytes), Source::kMost - 8);
  EXPECT_LT(std::strlen(source.bytes), Source::kMost);
}

TEST(LuaSource, ATextThatEndsInUnreadableMemoryIsCutThere) {
  FakeRecorder recorder;
  const Edge edge;
  char* string = edge.last(kText + 16);
  std::memset(string, 'y', kText + 16);
  Source source;
  ASSERT_TRUE(source.read(string));
  EXPECT_EQ(source.bytes, std::string(16, 'y'));
}

TEST(LuaSource, ThereIsNoneInUnreadableMemory) {
  FakeRecorder recorder;
  const Edge edge;
  Source source;
  EXPECT_FALSE(source.read(edge.unreadable()));
  EXPECT_STREQ(source.bytes, "");
}

// A function of Lua in memory: its closure, prototype, source, code and constants.
struct Function {
  Function() {
    source = string_of("@f.lua");
    prototype.put(lua.layout.line_defined, 3)
        .put(lua.layout.source, source.at())
        .put(lua.layout.code, code.at())
        .put(lua.layout.code_count, 4)
        .put(lua.layout.constants, constants.at())
        .put(lua.layout.constant_count, 0);
    closure.put(kPrototypeOfClosure, prototype.at());
  }
  std::uint64_t key() {
    Prototype read;
    Source text;
    EXPECT_TRUE(read.read(closure.at()));
    EXPECT_TRUE(text.read(read.source));
    return key_of(read, text);
  }
  void set_constant(std::size_t number, std::uint8_t kind, const void* value) {
    constants.put(number * 16, value).put(number * 16 + 8, kind);
  }

  Raw closure, prototype, source, code{4096}, constants{4096};
};

class LuaPrototypes : public testing::TestWithParam<int> {
 protected:
  FakeRecorder recorder_;
  FakeLua lua_{GetParam()};
  Function function_;
};
INSTANTIATE_TEST_SUITE_P(Versions, LuaPrototypes, testing::Values(502, 503, 504));

TEST_P(LuaPrototypes, AreReadFromClosures) {
  Prototype read;
  ASSERT_TRUE(read.read(function_.closure.at()));
  EXPECT_EQ(read.address, function_.prototype.at());
  EXPECT_EQ(read.source, function_.source.at());
  EXPECT_EQ(read.line, 3);
}

TEST_P(LuaPrototypes, AreNotReadFromDamagedMemory) {
  const Edge edge;
  Prototype read;
  EXPECT_FALSE(read.read(nullptr));
  EXPECT_FALSE(read.read(edge.unreadable()));
  function_.closure.put(kPrototypeOfClosure, edge.unreadable());
  EXPECT_FALSE(read.read(function_.closure.at()));
  function_.closure.put(kPrototypeOfClosure, function_.prototype.at());
  function_.prototype.put<const char*>(lua.layout.source, nullptr);
  EXPECT_FALSE(read.read(function_.closure.at()));
  function_.prototype.put(lua.layout.source, function_.source.at())
      .put(lua.layout.line_defined, -1);
  EXPECT_FALSE(read.read(function_.closure.at()));
}

TEST_P(LuaPrototypes, AreNotReadWhereTheirEndIsUnreadable) {
  const Edge edge;
  for (const std::size_t bytes : {lua.layout.line_defined, lua.layout.source, lua.layout.code}) {
    function_.closure.put(kPrototypeOfClosure,
                          edge.first_bytes_of(function_.prototype.at(), bytes));
    Prototype read;
    EXPECT_FALSE(read.read(function_.closure.at())) << bytes;
  }
}

TEST_P(LuaPrototypes, TheKeyTellsSourceLinesCodeAndConstantsApart) {
  const std::uint64_t first = function_.key();
  EXPECT_EQ(function_.key(), first);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(first >> 56, 0u);

  Function other;
  EXPECT_EQ(other.key(), first) << "the same text, compiled twice";
  other.prototype.put(lua.layout.line_defined, 4);
  EXPECT_NE(other.key(), first);
  other = Function();
  other.code.put(8, 7);
  EXPECT_NE(other.key(), first);
  other = Function();
  other.prototype.put(lua.layout.constant_count, 1);
  EXPECT_NE(other.key(), first);
}

TEST_P(LuaPrototypes, TheKeyHasNumbersAndTextsButNoAddresses) {
  constexpr std::uint8_t kTable = 0x45, kFloat = 3, kShortString = 0x44;
  function_.prototype.put(lua.layout.constant_count, 1);
  Raw one = string_of("one"), two = string_of("two"), again = string_of("one");
  const auto key_with = [this](std::uint8_t kind, const void* value) {
    function_.set_constant(0, kind, value);
    return function_.key();
  };
  EXPECT_NE(key_with(kFloat, one.at()), key_with(kFloat, two.at()));
  EXPECT_EQ(key_with(kShortString, one.at()), key_with(kShortString, again.at()));
  EXPECT_NE(key_with(kShortString, one.at()), key_with(kShortString, two.at()));
  EXPECT_EQ(key_with(kTable, one.at()), key_with(kTable, two.at()));
  const Edge edge;
  EXPECT_EQ(key_with(kShortString, edge.unreadable()), key_with(kShortString, nullptr));
}

TEST_P(LuaPrototypes, WhatIsLeftOverBehindATextDoesNotCount) {
  constexpr std::uint8_t kShortString = 0x44;
  function_.prototype.put(lua.layout.constant_count, 1);
  Raw text = string_of("one");
  function_.set_constant(0, kShortString, text.at());
  const std::uint64_t before = function_.key();
  text.put(kText + 5, 'x');
  EXPECT_EQ(function_.key(), before);
}

TEST_P(LuaPrototypes, AtTheAddressOfADeadOneAreOthers) {
  constexpr std::uint8_t kShortString = 0x44;
  function_.prototype.put(lua.layout.constant_count, 1);
  Raw text = string_of("even");
  function_.set_constant(0, kShortString, text.at());
  std::vector<Prototype> all;
  const auto add = [&] { EXPECT_TRUE(all.emplace_back().read(function_.closure.at())); };
  add();
  std::memcpy(text.at(kText), "odd", 4);
  add();
  function_.code.put(4, 7);
  add();
  function_.source.put(kText + 1, 'g');
  add();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_FALSE(all[i] == all[i - 1]) << i;
  add();
  EXPECT_TRUE(all[3] == all[4]);
}

TEST_P(LuaPrototypes, TheKeyOfALongFunctionNeedsOnlyItsBeginning) {
  Function other;
  for (Function* each : {&function_, &other}) {
    each->prototype.put(lua.layout.constant_count, 1 << 30).put(lua.layout.code_count, 1 << 30);
  }
  EXPECT_EQ(function_.key(), other.key());
  other.code.put(512 * 4, 1);
  other.set_constant(64, 3, other.code.at());
  EXPECT_EQ(function_.key(), other.key()) << "behind what is read";
  other.code.put(511 * 4, 1);
  EXPECT_NE(function_.key(), other.key());
}

TEST_P(LuaPrototypes, TheKeyEndsWhereCodeAndConstantsCannotBeRead) {
  const Edge edge;
  function_.prototype.put(lua.layout.code, edge.last(8))
      .put(lua.layout.constants, edge.last(16))
      .put(lua.layout.constant_count, 9)
      .put(lua.layout.code_count, 9);
  EXPECT_NE(function_.key(), 0u);
  function_.prototype.put<const char*>(lua.layout.constants, nullptr);
  EXPECT_NE(function_.key(), 0u);
}

TEST(LuaPlaces, FunctionsOfOneNameOnOneLineAreNumbered) {
  static Places places;
  EXPECT_EQ(places.number_of("f", "@a.lua", 1, 10), 1);
  EXPECT_EQ(places.number_of("f", "@a.lua", 1, 11), 2);
  EXPECT_EQ(places.number_of("f", "@a.lua", 1, 10), 1);
  EXPECT_EQ(places.number_of("f", "@a.lua", 2, 12), 1);
  EXPECT_EQ(places.number_of("g", "@a.lua", 1, 13), 1);
  EXPECT_EQ(places.number_of("f", "@b.lua", 1, 14), 1);
  EXPECT_EQ(places.number_of("f", "@a.lua", 1, 15), 3);
}

TEST(LuaPlaces, AFullTableStillAnswers) {
  static Places places;
  for (int line = 0; line < 5000; ++line) {
    EXPECT_EQ(places.number_of("f", "@a.lua", line, static_cast<std::uint64_t>(line) + 1), 1);
  }
  EXPECT_EQ(places.number_of("f", "@a.lua", 0, 9999), 2) << "places from before are known";
}

}  // namespace
}  // namespace fbleprof::adapters
