#include "transform/matcher.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "tests/support/text.h"
#include "transform/suggest.h"

namespace fbleprof::transform {
namespace {

profile::Profile sample() {
  profile::ProfileBuilder builder;
  const auto libc = builder.add_module({builder.string("/lib/libc.so.6"), {}, 0});
  builder.add_function({.module = libc, .address = 1, .name = builder.string("memcpy")});
  builder.add_function(
      {.name = builder.string("app::run(int, char**)"), .file = builder.string("/src/app.cc")});
  builder.add_function({.name = builder.string("app::run_all()")});
  builder.add_function({.name = builder.string("operator*(M const&)")});
  return builder.build();
}

std::string matched(const std::string& pattern) {
  auto result = match(sample(), pattern);
  if (!result) return result.error().line();
  std::string bits;
  for (const auto bit : *result) bits += bit ? '1' : '0';
  return bits;
}

TEST(Matcher, ExactNameMatchesWithAndWithoutParameters) {
  EXPECT_EQ(matched("memcpy"), "1000");
  EXPECT_EQ(matched("mem"), "0000");
  EXPECT_EQ(matched("app::run"), "0100");
  EXPECT_EQ(matched("app::run(int, char**)"), "0100");
  EXPECT_EQ(matched("operator*"), "0001");
}

TEST(Matcher, RegexesProneToBacktrackingAreFast) {
  EXPECT_EQ(matched("re:^(([a-z]+)*)*$"), "1000");
  profile::ProfileBuilder builder;
  builder.add_function({.name = builder.string(std::string(5000, 'a') + "!")});
  const auto result = match(builder.build(), "re:^(a+)+$");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0], 0);
  EXPECT_TRUE(test::holds(matched("re:(a)\\1"), "bad pattern"));
  EXPECT_TRUE(test::holds(matched("re:(a{1000}){1000}"), "bad pattern"));
}

TEST(Matcher, SimilarNamesAreSuggested) {
  profile::ProfileBuilder builder;
  std::vector<profile::FunctionId> all;
  for (const char* name : {"geo::spin", "geo::Spinner::turn()", "int sort<geo::spin>(int)",
                           "spinning", "operator<<(spin)", "a::SPIN(int)", "Xspin"}) {
    all.push_back(builder.add_function({.name = builder.string(name)}));
  }
  const auto profile = builder.build();
  const auto meant = [&](const char* pattern) { return likely_meant(profile, all, pattern, "-"); };
  EXPECT_EQ(meant("SORT"), "did you mean \"int sort<geo::spin>(int)\"?");
  EXPECT_EQ(meant("spin"), "did you mean \"geo::spin\", \"a::SPIN(int)\" or \"Xspin\"?");
  EXPECT_EQ(meant("psin"), "did you mean \"geo::spin\" or \"a::SPIN(int)\"?");
  EXPECT_EQ(meant("spinner"), "did you mean \"geo::Spinner::turn()\"?");
  EXPECT_EQ(meant("nothing"), "-");
  EXPECT_EQ(meant("spin?"), "-");
  EXPECT_EQ(meant("re:spim"), "-");
}

TEST(Matcher, PlacesMatchTheNamesOfTheirFunctions) {
  profile::ProfileBuilder builder;
  for (const char* name : {"f(int)+0x1f", "g(int) (f(int)+0x3)", "f(int)"}) {
    builder.add_function(
        {.kind = profile::FunctionKind::kInstruction, .name = builder.string(name)});
  }
  const auto profile = builder.build();
  using Bits = std::vector<std::uint8_t>;
  EXPECT_EQ(*match(profile, "f"), (Bits{1, 0, 1}));
  EXPECT_EQ(*match(profile, "f(int)"), (Bits{1, 0, 1}));
  EXPECT_EQ(*match(profile, "g"), (Bits{0, 1, 0}));
  EXPECT_EQ(*match(profile, "f(int)+0x1f"), (Bits{1, 0, 0}));
}

TEST(Matcher, GlobRegexModuleAndFile) {
  EXPECT_EQ(matched("app::*"), "0110");
  EXPECT_EQ(matched("re:^app::run\\("), "0100");
  EXPECT_EQ(matched("module:libc*"), "1000");
  EXPECT_EQ(matched("module:/lib/libc.so.6"), "1000");
  EXPECT_EQ(matched("file:app.cc"), "0100");
}

TEST(Matcher, BadPatternsAreErrors) {
  EXPECT_TRUE(test::holds(matched("re:("), "bad pattern"));
  EXPECT_TRUE(test::holds(matched(""), "bad pattern"));
  EXPECT_TRUE(test::holds(matched("module:"), "bad pattern"));
}

TEST(Glob, StarsQuestionMarksAndClasses) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_match("a*b*c", "a-b-b"));
  EXPECT_TRUE(glob_match("f?", "f1"));
  EXPECT_TRUE(glob_match("*[0-9]", "x7"));
  EXPECT_FALSE(glob_match("*[!0-9]", "x7"));
  EXPECT_TRUE(glob_match("[", "["));
  // A backtracking matcher would never finish with this pattern.
  EXPECT_FALSE(glob_match("a*a*a*a*a*a*a*a*a*a*b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace fbleprof::transform
