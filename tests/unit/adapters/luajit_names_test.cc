// The names of LuaJIT's functions, from their callers' code: whole, odd and damaged.
#include "adapters/luajit_names.h"

#include <gtest/gtest.h>

#include <string>

#include "adapters/luajit_functions.h"
#include "fake_lua.h"
#include "fake_recorder.h"
#include "luajit_memory.h"

namespace fbleprof::adapters::luajit {
namespace {

// The table of a script's variables: their names, and for how many instructions they live.
class Variables {
 public:
  Variables& add(const std::string& name, std::uint32_t begins_after, std::uint32_t lives) {
    bytes_ += name;
    if (static_cast<unsigned char>(name[0]) >= 7) bytes_ += '\0';
    add_number(begins_after);
    add_number(lives);
    return *this;
  }
  Address address() const { return reinterpret_cast<Address>(bytes_.c_str()); }
  const std::string& bytes() const { return bytes_; }

 private:
  void add_number(std::uint32_t number) {
    for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(number | 0x80);
    bytes_ += static_cast<char>(number);
  }
  std::string bytes_;
};

class LuaJitNames : public testing::Test {
 protected:
  // The name by which the instruction before `site` calls the function. "none": it has none.
  std::string name_at(std::size_t site, Address caller_base = 0) {
    const Call call{caller_.code(site), caller_.address(), caller_base, callee_.address()};
    Name name;
    return called_name(call, &name) ? name.text : "none";
  }
  void set_environment(const std::string& name, std::uint64_t value) {
    key_ = string_of(name, 5);
    node_.put<std::uint64_t>(0, value).put<std::uint64_t>(8, key_.address());
    table_.put(9, std::uint8_t{kIsTable}).put(40, node_.address());
    caller_.function().environment = table_.address();
    caller_.set_constant(2, key_.address());
  }

  FakeRecorder recorder_;
  // local f = callee; f()
  Script caller_{0,
                 {op_ad(kOpFunction, 2, 0), op_ad(kOpGetGlobal, 0, 2), op_abc(kOpCall, 0, 1, 1),
                  op_ad(kOpReturn, 0, 1)}};
  Script callee_{5};
  Raw table_, node_, key_;
};

TEST_F(LuaJitNames, AGlobalFunctionHasItsGlobalsName) {
  set_environment("work", value_of(callee_.closure()));
  EXPECT_EQ(name_at(3), "work");
  caller_.set_code(2, op_abc(kOpCallMany, 0, 1, 1));
  EXPECT_EQ(name_at(3), "work");
}

TEST_F(LuaJitNames, AGlobalThatIsAnotherFunctionMeansATailCall) {
  set_environment("work", value_of(caller_.closure()));
  EXPECT_EQ(name_at(3), "none");
}

TEST_F(LuaJitNames, AGlobalWhoseValueIsNotFoundIsTrusted) {
  set_environment("work", ~std::uint64_t{0});
  EXPECT_EQ(name_at(3), "work") << "nil: a metatable may know it";
  node_.put<std::uint64_t>(8, 1);
  EXPECT_EQ(name_at(3), "work") << "another name is there";
  // A chain of names that leads back to itself.
  node_.put(16, node_.address());
  EXPECT_EQ(name_at(3), "work");
  Raw second;
  second.put<std::uint64_t>(0, value_of(callee_.closure())).put(8, key_.address());
  node_.put(16, second.address());
  EXPECT_EQ(name_at(3), "work");
  second.put<std::uint64_t>(0, value_of(caller_.closure()));
  EXPECT_EQ(name_at(3), "none") << "found as the second one of the chain";
  table_.put(9, std::uint8_t{4});
  EXPECT_EQ(name_at(3), "work") << "no table";
  const Edge edge;
  caller_.function().environment = reinterpret_cast<Address>(edge.unreadable());
  EXPECT_EQ(name_at(3), "work");
}

TEST_F(LuaJitNames, AStringThatCannotBeReadNamesNothing) {
  const Edge edge;
  set_environment("work", value_of(callee_.closure()));
  caller_.set_constant(2, reinterpret_cast<Address>(edge.unreadable()));
  EXPECT_EQ(name_at(3), "none");
  key_ = string_of("");
  caller_.set_constant(2, key_.address());
  EXPECT_EQ(name_at(3), "none") << "an empty name";
  caller_.prototype().constants = reinterpret_cast<Address>(edge.unreadable()) + 4096;
  EXPECT_EQ(name_at(3), "none");
}

TEST_F(LuaJitNames, ALongNameIsCut) {
  const std::string name(100, 'n');
  set_environment(name, value_of(callee_.closure()));
  EXPECT_EQ(name_at(3), name.substr(0, 63));
}

TEST_F(LuaJitNames, OnlyCallsOfTheCallersCodeNameAFunction) {
  set_environment("work", value_of(callee_.closure()));
  EXPECT_EQ(name_at(4), "none") << "no call";
  EXPECT_EQ(name_at(0), "none") << "before the code";
  EXPECT_EQ(name_at(5), "none") << "behind it";
  caller_.prototype().header.more = 2;
  EXPECT_EQ(name_at(3), "none");
  Call call{0, caller_.address(), 0, callee_.address()};
  Name name;
  EXPECT_FALSE(called_name(call, &name)) << "not from Lua code";
}

TEST_F(LuaJitNames, ADamagedCallerNamesNothing) {
  const Edge edge;
  set_environment("work", value_of(callee_.closure()));
  const Address unreadable = reinterpret_cast<Address>(edge.unreadable());
  const Address code = caller_.function().code;
  caller_.function().code = unreadable;
  Name name;
  Call call{code + 12, caller_.address(), 0, callee_.address()};
  EXPECT_FALSE(called_name(call, &name));
  caller_.function().code = code;
  caller_.function().header.detail[0] = 1;
  EXPECT_FALSE(called_name(call, &name)) << "of C";
  caller_.function().header.detail[0] = 0;
  caller_.function().header.kind = kIsTable;
  EXPECT_FALSE(called_name(call, &name));
  caller_.function().header.kind = kIsFunction;
  EXPECT_TRUE(called_name(call, &name));
  call.caller = unreadable;
  EXPECT_FALSE(called_name(call, &name));
  // The code ends with its page.
  Raw prototype(sizeof(RawPrototype));
  prototype.put(0, caller_.prototype());
  caller_.function().code =
      reinterpret_cast<Address>(edge.first_bytes_of(prototype.at(), sizeof(RawPrototype))) +
      sizeof(RawPrototype);
  call = {caller_.function().code + 12, caller_.address(), 0, callee_.address()};
  EXPECT_FALSE(called_name(call, &name));
}

TEST_F(LuaJitNames, ALocalVariableNamesTheFunctionInIt) {
  Variables variables;
  variables.add("gone", 0, 1).add("f", 1, 10);
  caller_.prototype().variables = variables.address();
  EXPECT_EQ(name_at(3), "f");
  std::uint64_t slots[2] = {value_of(callee_.closure()), 0};
  EXPECT_EQ(name_at(3, reinterpret_cast<Address>(slots)), "f");
  slots[0] = value_of(caller_.closure());
  EXPECT_EQ(name_at(3, reinterpret_cast<Address>(slots)), "none") << "a tail call in between";
  const Edge edge;
  EXPECT_EQ(name_at(3, reinterpret_cast<Address>(edge.unreadable())), "f");
}

TEST_F(LuaJitNames, TheVariableInTheSlotCounts) {
  Variables variables;
  variables.add("\1", 0, 10).add("f", 0, 300).add("g", 0, 70000).add("later", 200, 10);
  caller_.prototype().variables = variables.address();
  EXPECT_EQ(name_at(3), "none") << "the compiler's own has no name";
  caller_.set_code(2, op_abc(kOpCall, 1, 1, 1));
  EXPECT_EQ(name_at(3), "f");
  caller_.set_code(2, op_abc(kOpCall, 2, 1, 1));
  EXPECT_EQ(name_at(3), "g");
  caller_.set_code(2, op_abc(kOpCall, 3, 1, 1));
  EXPECT_EQ(name_at(3), "none") << "it does not live yet";
}

TEST_F(LuaJitNames, ADamagedTableOfVariablesNamesNothing) {
  const Edge edge;
  Variables variables;
  variables.add("f", 0, 10);
  const std::string& bytes = variables.bytes();
  caller_.set_code(1, op_ad(kOpReturn, 0, 1));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    char* cut = edge.first_bytes_of(bytes.data(), length);
    caller_.prototype().variables = reinterpret_cast<Address>(cut);
    EXPECT_EQ(name_at(3), "none") << length;
  }
  const char endless_number[] = "f\0\x80\x80\x80\x80\x80\x80\x80";
  caller_.prototype().variables = reinterpret_cast<Address>(endless_number);
  EXPECT_EQ(name_at(3), "none");
  Variables many;
  for (int i = 0; i < 300; ++i) many.add("\1", 0, 0);
  many.add("f", 0, 10);
  caller_.prototype().variables = many.address();
  EXPECT_EQ(name_at(3), "none") << "too many to look through";
}

TEST_F(LuaJitNames, AMovedFunctionHasTheNameOfWhereItWas) {
  // local f; call of a copy of it in slot 1
  Variables variables;
  variables.add("f", 0, 10);
  caller_.prototype().variables = variables.address();
  caller_.set_code(1, op_ad(kOpMove, 1, 0));
  caller_.set_code(2, op_abc(kOpCall, 1, 1, 1));
  EXPECT_EQ(name_at(3), "f");
}

TEST_F(LuaJitNames, MovesThatLeadInACircleEnd) {
  Script caller(0, {op_ad(kOpFunction, 2, 0)});
  caller.prototype().header.more = 40;
  for (std::size_t i = 1; i < 39; ++i) caller.set_code(i, op_ad(kOpMove, 0, 0));
  caller.set_code(39, op_abc(kOpCall, 0, 1, 1));
  const Call call{caller.code(40), caller.address(), 0, callee_.address()};
  Name name;
  EXPECT_FALSE(called_name(call, &name));
}

TEST_F(LuaJitNames, OperationsThatNameNothingAreTheEnd) {
  caller_.set_code(1, op_ad(kOpReturn, 0, 0));
  EXPECT_EQ(name_at(3), "none") << "a constant, say";
  caller_.set_code(1, op_ad(kOpReturn, 7, 0));
  EXPECT_EQ(name_at(3), "none") << "nothing sets the slot";
}

TEST_F(LuaJitNames, JumpsSetNoSlot) {
  set_environment("work", value_of(callee_.closure()));
  Script caller(0, {op_ad(kOpFunction, 2, 0), op_ad(kOpGetGlobal, 0, 2), op_ad(kOpLoop, 0, 0),
                    op_ad(kOpJump, 0, 0), op_abc(kOpCall, 0, 1, 1)});
  caller.function().environment = table_.address();
  caller.set_constant(2, key_.address());
  const Call call{caller.code(5), caller.address(), 0, callee_.address()};
  Name name;
  EXPECT_TRUE(called_name(call, &name));
  EXPECT_STREQ(name.text, "work");
}

TEST_F(LuaJitNames, ALoadFarBeforeTheCallIsNotLookedFor) {
  set_environment("work", value_of(callee_.closure()));
  Script caller(0, {op_ad(kOpFunction, 2, 0), op_ad(kOpGetGlobal, 0, 2)});
  caller.prototype().header.more = 500;
  for (std::size_t i = 2; i < 499; ++i) caller.set_code(i, op_ad(kOpJump, 9, 0));
  caller.set_code(499, op_abc(kOpCall, 0, 1, 1));
  caller.function().environment = table_.address();
  caller.set_constant(2, key_.address());
  const Call call{caller.code(500), caller.address(), 0, callee_.address()};
  Name name;
  EXPECT_FALSE(called_name(call, &name));
}

TEST_F(LuaJitNames, AnUpvalueNamesTheFunctionInIt) {
  const Edge edge;
  const char names[] = "first\0second";
  Raw object, slot;
  slot.put(0, value_of(callee_.closure()));
  object.put(32, slot.address());
  caller_.closure().put(48, object.address());
  caller_.set_code(1, op_ad(kOpGetUpvalue, 0, 1));
  EXPECT_EQ(name_at(3), "none") << "stripped code has no names";
  caller_.prototype().upvalue_names = reinterpret_cast<Address>(names);
  EXPECT_EQ(name_at(3), "none") << "it has no upvalue of this number";
  caller_.prototype().upvalue_count = 2;
  EXPECT_EQ(name_at(3), "second");
  slot.put(0, value_of(caller_.closure()));
  EXPECT_EQ(name_at(3), "none") << "it holds another function";
  const Address unreadable = reinterpret_cast<Address>(edge.unreadable());
  object.put(32, unreadable);
  EXPECT_EQ(name_at(3), "second") << "what it holds is not known";
  caller_.closure().put(48, unreadable);
  EXPECT_EQ(name_at(3), "second");
  caller_.prototype().upvalue_names = reinterpret_cast<Address>(edge.first_bytes_of("fir", 3));
  EXPECT_EQ(name_at(3), "none");
}

TEST_F(LuaJitNames, AFieldNamesTheFunctionInIt) {
  // module.work(), where module is a global
  Raw module, field, work = string_of("work", 1), module_name = string_of("module", 5);
  field.put(0, value_of(callee_.closure())).put(8, work.address());
  module.put(9, std::uint8_t{kIsTable}).put(40, field.address());
  Script caller(0, {op_ad(kOpFunction, 2, 0), op_ad(kOpGetGlobal, 1, 3),
                    op_abc(kOpGetField, 0, 1, 2), op_abc(kOpCall, 0, 1, 1)});
  Raw node, globals;
  node.put(0, value_of(module)).put(8, module_name.address());
  globals.put(9, std::uint8_t{kIsTable}).put(40, node.address());
  caller.function().environment = globals.address();
  caller.set_constant(2, work.address());
  caller.set_constant(3, module_name.address());
  const Call call{caller.code(4), caller.address(), 0, callee_.address()};
  Name name;
  ASSERT_TRUE(called_name(call, &name));
  EXPECT_STREQ(name.text, "work");
  field.put(0, value_of(caller.closure()));
  EXPECT_FALSE(called_name(call, &name)) << "the field is another function";
}

// -- Blocks --

class LuaJitFunctions : public LuaJitNames {
 protected:
  LuaJitFunctions() { set_environment("work", value_of(callee_.closure())); }

  std::string block_of(Address callee, bool is_named = true) {
    const Call call{is_named ? caller_.code(3) : 0, caller_.address(), 0, callee};
    return recorder_.name_of(functions_.block_of(call));
  }

  Functions& functions_ = *static_cast<Functions*>(calloc(1, sizeof(Functions)));
};

TEST_F(LuaJitFunctions, HaveTheNamesByWhichTheyAreCalled) {
  EXPECT_EQ(block_of(callee_.address()), "work");
  EXPECT_EQ(block_of(callee_.address(), false), "work");
  EXPECT_EQ(recorder_.blocks.size(), 1u);
  EXPECT_EQ(recorder_.blocks[0].line, 5u);
}

TEST_F(LuaJitFunctions, AreNamedByALaterCall) {
  EXPECT_EQ(block_of(callee_.address(), false), "function </j.lua:5>");
  EXPECT_EQ(block_of(callee_.address(), false), "function </j.lua:5>");
  EXPECT_EQ(block_of(callee_.address()), "work");
}

TEST_F(LuaJitFunctions, AreNotNamedAfterManyCallsWithoutAName) {
  for (int i = 0; i < 150; ++i) block_of(callee_.address(), false);
  EXPECT_EQ(block_of(callee_.address()), "function </j.lua:5>");
}

TEST_F(LuaJitFunctions, AMainChunkNeedsNoName) {
  callee_.prototype().line = 0;
  EXPECT_EQ(block_of(callee_.address()), "main chunk");
}

TEST_F(LuaJitFunctions, ASecondPrototypeOfTheSameSourceIsTheSameFunction) {
  Script again(5);
  EXPECT_EQ(block_of(callee_.address()), "work");
  EXPECT_EQ(block_of(again.address(), false), "work");
  EXPECT_EQ(recorder_.blocks.size(), 1u);
}

TEST_F(LuaJitFunctions, ASecondPrototypeKeepsTheFirstOnesName) {
  Script again(5);
  EXPECT_EQ(block_of(callee_.address()), "work");
  set_environment("other", value_of(again.closure()));
  EXPECT_EQ(block_of(again.address()), "work");
}

TEST_F(LuaJitFunctions, APrototypeAtAnOldAddressIsAnotherFunction) {
  EXPECT_EQ(block_of(callee_.address(), false), "function </j.lua:5>");
  callee_.prototype().line = 6;
  EXPECT_EQ(block_of(callee_.address(), false), "function </j.lua:6>");
  callee_.prototype().header.more = 2;
  EXPECT_EQ(block_of(callee_.address(), false), "function </j.lua:6> (2)");
  Raw source = string_of("@/k.lua");
  callee_.prototype().source = source.address();
  EXPECT_EQ(block_of(callee_.address(), false), "function </k.lua:6>");
}

TEST_F(LuaJitFunctions, APrototypeInAllPlacesOfADeadOneIsAnotherFunction) {
  const std::string first = block_of(callee_.address(), false);
  EXPECT_EQ(first, "function </j.lua:5>");
  EXPECT_EQ(block_of(callee_.address(), false), first);
  callee_.set_code(0, op_ad(1, 2, 3));
  EXPECT_EQ(block_of(callee_.address(), false), first + " (2)");
  Raw text = string_of("even");
  text.put(9, std::uint8_t{kIsString});
  callee_.set_constant(0, text.address());
  callee_.prototype().objects = 1;
  EXPECT_EQ(block_of(callee_.address(), false), first + " (3)");
  std::memcpy(text.at(24), "odd", 4);
  EXPECT_EQ(block_of(callee_.address(), false), first + " (4)");
  std::memcpy(text.at(24), "even", 5);
  EXPECT_EQ(block_of(callee_.address(), false), first + " (3)");
}

TEST_F(LuaJitFunctions, WhatLuaJitReplacesInCodeDoesNotCount) {
  Script one(5, {op_ad(kOpFunction, 1, 0), op_ad(1, 2, 3), op_ad(kOpReturn, 0, 0)});
  Script two(5, {op_ad(kOpFunction + 1, 1, 7), op_ad(1, 2, 3), op_ad(kOpReturn, 0, 0)});
  Script three(5, {op_ad(kOpFunction, 1, 0), op_ad(1, 2, 4), op_ad(kOpReturn, 0, 0)});
  Script four(5, {op_ad(kOpFunction, 1, 0), op_ad(69, 2, 4), op_ad(kOpReturn, 0, 0)});
  Script five(5, {op_ad(kOpFunction, 1, 0), op_ad(70, 2, 4), op_ad(kOpReturn, 0, 0)});
  Script six(5, {op_ad(kOpFunction, 1, 0), op_ad(72, 2, 4), op_ad(kOpReturn, 0, 0)});
  block_of(one.address(), false);
  block_of(two.address(), false);
  EXPECT_EQ(recorder_.blocks.size(), 1u);
  block_of(three.address(), false);
  EXPECT_EQ(recorder_.blocks.size(), 2u);
  block_of(four.address(), false);
  block_of(five.address(), false);
  block_of(six.address(), false);
  EXPECT_EQ(recorder_.blocks.size(), 3u);
}

TEST_F(LuaJitFunctions, OfLongOnesOnlyTheBeginningIsRead) {
  Script one(5), two(5);
  one.prototype().header.more = two.prototype().header.more = 2000;
  two.set_code(1000, op_ad(1, 2, 3));
  block_of(one.address(), false);
  block_of(two.address(), false);
  EXPECT_EQ(recorder_.blocks.size(), 1u);
}

TEST_F(LuaJitFunctions, DamagedOnesAreNotShown) {
  const Edge edge;
  const Address unreadable = reinterpret_cast<Address>(edge.unreadable());
  EXPECT_EQ(block_of(0), "none");
  EXPECT_EQ(block_of(unreadable), "none");
  EXPECT_EQ(block_of(table_.address()), "none") << "not a function";
  const Address source = callee_.prototype().source;
  callee_.prototype().source = unreadable;
  EXPECT_EQ(block_of(callee_.address()), "none");
  callee_.prototype().source = source;
  callee_.function().code = unreadable + sizeof(RawPrototype);
  EXPECT_EQ(block_of(callee_.address()), "none");
}

TEST_F(LuaJitFunctions, CodeThatEndsWithItsPageIsReadUpToThere) {
  const Edge edge;
  callee_.prototype().header.more = 100;
  Raw copy(sizeof(RawPrototype) + 8);
  copy.put(0, callee_.prototype());
  callee_.function().code =
      reinterpret_cast<Address>(edge.first_bytes_of(copy.at(), sizeof(RawPrototype) + 8)) +
      sizeof(RawPrototype);
  EXPECT_EQ(block_of(callee_.address(), false), "function </j.lua:5>");
}

TEST_F(LuaJitFunctions, ThoseOfCAreKnownByTheirCode) {
  CFunction c(0x1234), another(0x1234);
  set_environment("send", value_of(c.closure()));
  EXPECT_EQ(block_of(c.address(), false), "none") << "no module has it, and no caller names it";
  EXPECT_EQ(block_of(c.address()), "send");
  EXPECT_EQ(block_of(another.address(), false), "send");
}

TEST_F(LuaJitFunctions, LuaJitsOwnAreKnownByTheirNumber) {
  CFunction three(0, 3), four(0, 4);
  set_environment("ipairs", value_of(three.closure()));
  EXPECT_EQ(block_of(three.address()), "ipairs");
  EXPECT_EQ(block_of(four.address(), false), "none");
}

TEST_F(LuaJitFunctions, ModulesNameTheirFunctionsOfC) {
  const Edge edge;
  FakeLua lua(501);
  CFunction open(0x1234);
  lua.loaded = LuaValue::table(
      {{LuaValue::string("io"),
        LuaValue::table({{LuaValue::string("open"), LuaValue::function(open.closure().at())},
                         {LuaValue::string("lines"), LuaValue::function(callee_.closure().at())},
                         {LuaValue::string("freed"), LuaValue::function(edge.unreadable())},
                         {LuaValue::string("max"), LuaValue::number()}})}});
  name_c_functions(nullptr);
  ASSERT_EQ(recorder_.blocks.size(), 1u);
  EXPECT_EQ(recorder_.blocks[0].name, "io.open");
}

}  // namespace
}  // namespace fbleprof::adapters::luajit
