#include "signal_safe/code_map.h"

#include <gtest/gtest.h>

#include <set>

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
}

}  // namespace
}  // namespace fbleprof
