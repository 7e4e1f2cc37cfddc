#include "signal_safe/code_map.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <string>

#include "tests/support/no_resources.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using format::Ref;
using test::FakeCode;
using test::Recording;

TEST(CodeMap, AsksTheUnwindTablesOnceForEachAddress) {
  Recording recording;
  auto& code = recording.session.code_map;
  for (std::uint32_t f = 0; f < 1000; ++f) code.function_at(recording.code.site_in(f));
  const std::uint64_t lookups = FakeCode::lookups();
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t f = 0; f < 1000; ++f) code.function_at(recording.code.site_in(f));
  }
  EXPECT_EQ(FakeCode::lookups(), lookups);
}

TEST(CodeMap, FindsTheSameFunctionFromAllOfItsAddresses) {
  Recording recording;
  auto& code = recording.session.code_map;
  std::set<Ref> functions;
  for (std::uint32_t f = 0; f < 3000; ++f) {
    const Ref hooked = code.hooked_function_at(recording.code.hook_of(f));
    for (std::uint32_t at = 0; at < FakeCode::kBytes; at += 9) {
      ASSERT_EQ(code.function_at(recording.code.start_of(f) + at), hooked);
    }
    const auto* record = recording.session.arena.at<format::Function>(hooked);
    EXPECT_EQ(record->address, recording.code.start_of(f));
    EXPECT_TRUE(record->flags & format::kFunctionHooked);
    functions.insert(hooked);
  }
  EXPECT_EQ(functions.size(), 3000u);
}

Ref module_of(const Recording& recording, Ref function) {
  return recording.session.arena.at<format::Function>(function)->module;
}

TEST(CodeMap, OtherCodeAtTheSamePlaceIsOtherFunctions) {
  Recording recording;
  auto& code = recording.session.code_map;
  const Ref before = code.function_at(recording.code.site_in(7));
  code.retire(module_of(recording, before), 1);
  // The fake module has no build-id: nothing proves that it is the same that comes back.
  const Ref after = code.function_at(recording.code.site_in(7));
  EXPECT_NE(after, before);
  EXPECT_NE(module_of(recording, after), module_of(recording, before));
  EXPECT_EQ(recording.session.arena.at<format::Module>(module_of(recording, before))->unloaded_ns,
            1u);
}

TEST(CodeMap, CodeThatComesBackKeepsItsFunctions) {
  Recording recording;
  auto& code = recording.session.code_map;
  recording.code.write_build_id("0123456789");
  const Ref before = code.hooked_function_at(recording.code.hook_of(70));
  const Ref module = module_of(recording, before);
  for (int i = 0; i < 1000; ++i) {
    code.retire(module, 5);
    EXPECT_EQ(code.known_hook_at(recording.code.hook_of(70)), 0u);
    EXPECT_EQ(code.hooked_function_at(recording.code.hook_of(70)), before);
    EXPECT_EQ(recording.session.arena.at<format::Module>(module)->unloaded_ns, 0u);
  }
  int modules = 0;
  recording.session.arena.for_each(format::Kind::kModule, [&](Ref) { return ++modules, true; });
  EXPECT_EQ(modules, 1);
}

TEST(CodeMap, GeneratedCodeAtOneAddressIsToldApartByItsBytes) {
  static std::uint32_t hash = 0;
  static std::uint64_t moment = 0;
  Recording recording;
  signal_safe::CodeSource source = FakeCode::source();
  source.code_hash_at = [](std::uint64_t) { return hash; };
  source.note_moment = [](format::Function* function) { function->first_met_ns = ++moment; };
  signal_safe::CodeMap code;
  ASSERT_TRUE(code.start(&recording.session.arena, &recording.session.pages, source));
  constexpr std::uint64_t kAddress = 0x7000'0000'1234;
  const auto met = [&](Ref ref) {
    return recording.session.arena.at<format::Function>(ref)->first_met_ns;
  };
  hash = 1;
  const Ref first = code.place_at(kAddress);
  EXPECT_EQ(recording.session.arena.at<format::Function>(first)->address, 0x7000'0000'1230u);
  EXPECT_EQ(code.place_at(kAddress + 2), first) << "the same stretch";
  EXPECT_NE(code.place_at(kAddress + 16), first);
  hash = 2;
  const Ref second = code.place_at(kAddress);
  EXPECT_NE(second, first);
  EXPECT_LT(met(first), met(second));
  hash = 1;
  EXPECT_EQ(code.place_at(kAddress), first) << "the same bytes again";
  hash = 0;
  EXPECT_EQ(code.place_at(kAddress), first) << "bytes that cannot be read";
  std::set<Ref> functions;
  for (hash = 10; hash < 1000; ++hash) functions.insert(code.place_at(kAddress));
  EXPECT_EQ(functions.size() + 2, signal_safe::CodeMap::kMostGenerations) << "the tree is bounded";
}

TEST(CodeMap, KeptAnswerEndsWhenCodeIsUnloaded) {
  Recording recording;
  auto& code = recording.session.code_map;
  const std::uint64_t hook = recording.code.hook_of(70);
  std::uint64_t kept = 0;
  EXPECT_EQ(code.known_hook_of(hook, &kept), 0u);
  const Ref function = code.hooked_function_at(hook);
  EXPECT_EQ(code.known_hook_of(hook, &kept), function);
  EXPECT_EQ(static_cast<Ref>(kept), function);
  code.retire(module_of(recording, function), 1);
  EXPECT_EQ(code.known_hook_of(hook, &kept), 0u);
}

TEST(CodeMap, CodeIsSurelyInAHookedFunctionWhileItIsLoaded) {
  Recording recording;
  auto& code = recording.session.code_map;
  const std::uint64_t site = recording.code.site_in(70);
  const Ref function = code.function_at(site);
  EXPECT_FALSE(code.is_surely_in(function, site)) << "it has no hook yet";
  EXPECT_EQ(code.hooked_function_at(recording.code.hook_of(70)), function);
  EXPECT_TRUE(code.is_surely_in(function, site));
  EXPECT_FALSE(code.is_surely_in(function, recording.code.site_in(71)));
  code.retire(module_of(recording, function), 1);
  EXPECT_FALSE(code.is_surely_in(function, site));
}

TEST(CodeMap, BlocksAreKnownByTheirNumber) {
  Recording recording;
  auto& code = recording.session.code_map;
  for (std::uint32_t number = 1; number <= 2'000'00; ++number) {
    const Ref block = code.function_with_key(number, format::FunctionKind::kBlock);
    ASSERT_NE(block, 0u);
    code.name_block(number, block);
    ASSERT_EQ(recording.session.function_of_block(number), block);
  }
  EXPECT_EQ(recording.session.function_of_block(0), 0u);
  EXPECT_EQ(recording.session.function_of_block(300'000), 0u);
  const Ref unnamed = code.function_with_key(300'000, format::FunctionKind::kBlock);
  EXPECT_EQ(recording.session.function_of_block(300'000), unnamed) << "its record is enough";
}

TEST(CodeMap, AHookInCodeWithoutATableIsAFunctionOfItsOwn) {
  Recording recording;
  auto& code = recording.session.code_map;
  constexpr std::uint64_t kHook = 0x7000'0000'1234;
  const Ref function = code.hooked_function_at(kHook);
  const auto* record = recording.session.arena.at<format::Function>(function);
  EXPECT_EQ(record->address, kHook);
  EXPECT_EQ(record->size, 0u);
  EXPECT_TRUE(record->flags & format::kFunctionHooked);
  EXPECT_EQ(record->module, 0u);
  EXPECT_NE(code.hooked_function_at(kHook + 16), function);
}

// A map whose source of facts does something else in the middle of an answer, as a handler or
// another thread may.
class InterruptedMap : public testing::Test {
 protected:
  static constexpr std::uint64_t kGenerated = 0x7000'0000'1234;

  InterruptedMap() {
    is_armed = false;
    signal_safe::CodeSource source = FakeCode::source();
    source.range_at = [](std::uint64_t address) {
      interrupt();
      return FakeCode::source().range_at(address);
    };
    source.object_at = [](std::uint64_t address, signal_safe::LoadedObject* object) {
      interrupt();
      return FakeCode::source().object_at(address, object);
    };
    source.is_part_of = [](const format::Function&, const format::Function&) {
      interrupt();
      return true;
    };
    source.note_moment = [](format::Function*) { interrupt(); };
    EXPECT_TRUE(code.start(&recording.session.arena, &recording.session.pages, source));
    signal_safe::LoadedModule loaded;
    loaded.begin = loaded.load_bias = 0x10000;
    loaded.end = 0x20000;
    static const Elf64_Phdr kNoHeaders[1] = {};
    loaded.headers = kNoHeaders;
    other_module = code.add_module(loaded);
  }

  // The function's answer if the other one runs in the middle of it, after so many answers of the
  // source.
  template <typename Function>
  Ref interrupted(const std::function<void()>& other, Function function, int after = 0) {
    is_armed = true;
    answers_before = after;
    during = other;
    const Ref answer = function();
    EXPECT_FALSE(is_armed) << "nothing was asked";
    return answer;
  }
  static void interrupt() {
    if (!is_armed || answers_before-- > 0) return;
    is_armed = false;
    during();
  }
  void unload() { code.retire(other_module, 1); }

  static inline bool is_armed;
  static inline int answers_before = 0;
  static inline std::function<void()> during;
  Recording recording;
  signal_safe::CodeMap code;
  Ref other_module = 0, met = 0;
};

TEST_F(InterruptedMap, AnswersAreTheSameForWhoeverIsFirst) {
  const std::uint64_t site = recording.code.site_in(7);
  Ref answer =
      interrupted([&] { met = code.function_at(site); }, [&] { return code.function_at(site); });
  EXPECT_EQ(answer, met);
  EXPECT_EQ(code.function_at(site), answer);
  met = 0;
  // In the middle of making the record.
  answer = interrupted([&] { met = code.place_at(kGenerated + 64); },
                       [&] { return code.place_at(kGenerated + 64); }, 2);
  EXPECT_EQ(answer, met);
  const std::uint32_t generated = code.generated_count();
  code.place_at(kGenerated);
  is_armed = true;
  answers_before = 0;
  during = [] {};
  EXPECT_EQ(code.place_at(kGenerated + 4), code.place_at(kGenerated)) << "one stretch";
  is_armed = false;
  EXPECT_EQ(code.generated_count(), generated + 1);
}

TEST_F(InterruptedMap, WhatIsFoundWhileCodeIsUnloadedIsNotKept) {
  const std::uint64_t site = recording.code.site_in(7);
  const Ref function = interrupted([&] { unload(); }, [&] { return code.function_at(site); });
  EXPECT_NE(function, 0u);
  EXPECT_EQ(code.known_function_at(site), 0u) << "the next one asks again";
  EXPECT_EQ(code.function_at(site), function);
  EXPECT_EQ(code.known_function_at(site), function);
  const Ref place = interrupted([&] { unload(); }, [&] { return code.place_at(kGenerated); }, 2);
  EXPECT_EQ(code.place_at(kGenerated), place);
  int asked = 0;
  const Ref part = code.function_at(recording.code.site_in(8));
  for (int i = 0; i < 3; ++i) {
    is_armed = true;
    answers_before = 0;
    during = [&] {
      if (i == 0) unload();
    };
    EXPECT_TRUE(code.is_part_of(part, function));
    asked += !is_armed;
  }
  is_armed = false;
  EXPECT_EQ(asked, 2) << "the second answer is kept";
}

TEST_F(InterruptedMap, WhatIsNotAtTheAddressesOfUnloadedCodeStays) {
  const Ref function = code.function_at(recording.code.site_in(7));
  const Ref part = code.function_at(recording.code.site_in(8));
  const Ref block = code.function_with_key(5, format::FunctionKind::kBlock);
  code.name_block(5, block);
  const Ref text = code.shared_string("text", 4);
  const Ref holder = code.stand_in(function, format::kFunctionHolder);
  const Ref waker = code.stand_in(function, format::kFunctionWaker);
  const Ref place = code.place_at(kGenerated);
  ASSERT_TRUE(code.name_key(77, 0, block));
  EXPECT_TRUE(code.is_part_of(part, function));
  code.mark_entering(function);
  code.retire(module_of(recording, function), 1);
  EXPECT_EQ(code.known_function_at(recording.code.site_in(7)), 0u);
  EXPECT_FALSE(code.is_entering(function));
  EXPECT_EQ(code.block(5), block);
  EXPECT_EQ(code.block_of_key(77), block);
  EXPECT_EQ(code.shared_string("text", 4), text);
  EXPECT_EQ(code.stand_in(function, format::kFunctionHolder), holder);
  EXPECT_EQ(code.stand_in(function, format::kFunctionWaker), waker);
  EXPECT_EQ(code.place_at(kGenerated), place);
  EXPECT_FALSE(code.name_key(77, 0, function)) << "it is the block's";
}

// -- Modules --

TEST(Modules, AreTheSameOnlyIfNothingAboutThemChanged) {
  Recording recording;
  auto& code = recording.session.code_map;
  const auto& arena = recording.session.arena;
  recording.code.write_build_id("0123456789");
  signal_safe::LoadedModule loaded;
  loaded.begin = loaded.load_bias = recording.code.begin();
  loaded.end = recording.code.end();
  loaded.path = "/lib/one.so";
  const Ref first = code.add_module(loaded);
  EXPECT_NE(code.add_module(loaded), first) << "both are loaded";
  code.retire(first, 1);
  EXPECT_EQ(code.add_module(loaded), first) << "it is loaded again";
  const auto is_new = [&](signal_safe::LoadedModule other) {
    code.retire(first, 1);
    return code.add_module(other) != first;
  };
  auto other = loaded;
  other.end -= 64;
  EXPECT_TRUE(is_new(other));
  other = loaded;
  other.load_bias -= 64;
  other.headers = reinterpret_cast<const Elf64_Phdr*>(loaded.begin + sizeof(Elf64_Ehdr));
  EXPECT_TRUE(is_new(other));
  for (const char* path : {"/lib/two.so", "/lib/other.so", ""}) {
    other = loaded;
    other.path = path;
    EXPECT_TRUE(is_new(other)) << path;
  }
  for (const char* id : {"0123456788", "012345678"}) {
    recording.code.write_build_id(id);
    EXPECT_TRUE(is_new(loaded)) << id;
  }
  // Of a module without a build-id nothing is known for sure.
  std::memset(reinterpret_cast<void*>(loaded.begin), 0, 4);
  loaded.path = nullptr;
  const Ref bare = code.add_module(loaded);
  EXPECT_EQ(arena.at<format::Module>(bare)->path, 0u);
  code.retire(bare, 1);
  EXPECT_NE(code.add_module(loaded), bare);
  recording.code.write_build_id("0123456789");
  EXPECT_NE(code.add_module(loaded), bare);
}

TEST(Modules, HaveNamesOfAnyLength) {
  Recording recording;
  const std::string name(5000, 'n');
  signal_safe::LoadedModule loaded;
  loaded.begin = loaded.load_bias = recording.code.begin();
  loaded.end = recording.code.end();
  loaded.path = name.c_str();
  const auto& arena = recording.session.arena;
  const auto* module = arena.at<format::Module>(recording.session.code_map.add_module(loaded));
  EXPECT_EQ(arena.at<format::String>(module->path)->length, 4096u);
}

TEST(Modules, AnotherOneMayLieInAHoleOfOne) {
  Recording recording;
  auto& code = recording.session.code_map;
  signal_safe::LoadedModule loaded;
  loaded.begin = recording.code.begin();
  loaded.end = recording.code.end();
  loaded.load_bias = recording.code.begin();
  const Ref inner = code.add_module(loaded);
  loaded.load_bias += 4096;
  const Ref around = code.add_module(loaded);
  EXPECT_NE(inner, around);
  EXPECT_EQ(module_of(recording, code.function_at(recording.code.site_in(7))), inner);
}

TEST(CodeMapWithoutMemory, KnowsWhatItKnew) {
  Recording recording;
  auto& code = recording.session.code_map;
  const Ref function = code.function_at(recording.code.site_in(7));
  std::uint64_t key = 0, refused = 0;
  Ref stand_in, generated, again;
  bool has_key;
  {
    const test::NoMemory none;
    // Until the table has no place left, wherever a key belongs.
    while (key < 500'000 && refused < 1000) {
      refused += code.function_with_key(++key, format::FunctionKind::kBlock) == 0;
    }
    has_key = code.name_key(1'000'000, 0, function);
    stand_in = code.stand_in(function, format::kFunctionHolder);
    generated = code.place_at(0x7000'0000'1234);
    again = code.function_at(recording.code.site_in(7) + 1);
  }
  EXPECT_LT(key, 500'000u);
  EXPECT_FALSE(has_key);
  EXPECT_EQ(stand_in, 0u);
  EXPECT_EQ(generated, 0u);
  EXPECT_EQ(again, function);
}

}  // namespace
}  // namespace fbleprof
