#include "transform/take_times.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "profile/reader.h"
#include "tests/support/file_builder.h"
#include "tests/support/profile_builder.h"
#include "tests/support/text.h"
#include "transform/baseline.h"
#include "transform/join.h"
#include "transform/merge.h"

namespace fbleprof::transform {
namespace {

using test::profile_of;
using test::text_of;

// As profile_of(), with spaces for '~' in names.
profile::Profile spaced(std::string_view text) {
  const profile::Profile profile = profile_of(text);
  profile::StringInterner strings(profile.strings());
  auto functions = std::make_shared<profile::Functions>(profile.functions());
  for (profile::StringId& name : functions->name) {
    std::string with_spaces(strings.get(name));
    std::replace(with_spaces.begin(), with_spaces.end(), '~', ' ');
    name = strings.intern(with_spaces);
  }
  profile::Parts parts = profile.parts();
  parts.strings = std::make_shared<profile::Strings>(strings.take());
  parts.functions = std::move(functions);
  return profile::Profile(std::move(parts));
}

Result<TakenTimes> taken(std::string_view hooked, std::string_view plain) {
  const profile::Profile with_hooks = spaced(hooked);
  auto result = take_times(merge(join({with_hooks, as_baseline(spaced(plain))})),
                           with_hooks.parts(), "cpu", "base:cpu");
  if (result) {
    EXPECT_EQ(result->profile.threads().size(), with_hooks.threads().size());
  }
  return result;
}

TEST(TakeTimes, TimeOfAFunctionIsDividedAmongItsContexts) {
  const auto result = taken(
      "main -> 1\n"
      "main a -> 5\n"
      "main b -> 1\n"
      "main b a -> 5\n"
      "main = 10\n"
      "main a = 30\n"
      "main b = 10\n"
      "main b a = 90\n",
      "main = 7\n"
      "main a = 8\n"
      "main b = 2\n"
      "main b a = 4\n");
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(text_of(result->profile),
            "[root]\n"
            ".main cpu=7 calls=1\n"
            "..a cpu=3 calls=5\n"
            "..b cpu=2 calls=1\n"
            "...a cpu=9 calls=5\n");
  EXPECT_EQ(result->total_ns, 21u);
  EXPECT_EQ(result->elsewhere_ns, 0u);
}

TEST(TakeTimes, TimeWithoutAHookIsChargedToItsCaller) {
  const auto result = taken(
      "main -> 1\n"
      "main a -> 1\n"
      "main = 1\n"
      "main a = 1\n"
      "main a memcpy = 1\n",
      "main a memcpy = 10\n"
      "main a memset = 10\n"
      "start = 3\n"
      "main b = 4\n");
  ASSERT_TRUE(result) << result.error().line();
  // A leaf that the run with hooks sampled gets its share of its caller's time.
  EXPECT_EQ(text_of(result->profile),
            "[root] cpu=3\n"
            ".main cpu=4 calls=1\n"
            "..a cpu=10 calls=1\n"
            "...memcpy cpu=10\n");
  EXPECT_EQ(result->elsewhere_ns, 3u);
  EXPECT_EQ(result->below_ns, 14u);
}

TEST(TakeTimes, TimesOfARunWithoutCounterpartStay) {
  const profile::Profile with_hooks = profile_of(
      "main -> 1\n"
      "main a -> 5\n"
      "main a = 30\n");
  const profile::Profile other = profile_of(
      "main -> 1\n"
      "main a -> 90\n"
      "main a = 7\n"
      "main b = 2\n"
      "start = 4\n");
  const profile::Profile plain = profile_of(
      "main = 3\n"
      "main a = 10\n");
  const auto result =
      take_times(merge(join({with_hooks, other, as_baseline(plain), as_unchanged(other)})),
                 join({with_hooks, other}).parts(), "cpu", "base:cpu");
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(text_of(result->profile),
            "[root]\n"
            ".main cpu=3 calls=2\n"
            "..a cpu=17 calls=95\n"
            "..b cpu=2\n"
            ".start cpu=4\n");
  EXPECT_EQ(result->total_ns, 13u);
  EXPECT_EQ(result->elsewhere_ns, 0u);
}

// On which the times of a comparison rest.
TEST(TakeTimes, SamplesComeWithTheTimes) {
  test::FileBuilder counted, sampled;
  counted.charge("main a", {.cpu_ns = 30, .samples = 900});
  counted.charge("main b a", {.cpu_ns = 10, .samples = 900});
  for (const char* each : {"main", "main a", "main b", "main b a"}) counted.calls(each, 1);
  sampled.charge("main a", {.cpu_ns = 8, .samples = 4});
  sampled.charge("main b c", {.cpu_ns = 2, .samples = 2});
  const profile::Profile with_hooks = profile::read_bytes(counted.bytes(), "f")->profile;
  const profile::Profile plain = profile::read_bytes(sampled.bytes(), "f")->profile;
  const profile::Profile both = merge(join({with_hooks, as_baseline(plain)}));
  const auto sum = [](const profile::Profile& profile, std::string_view name) {
    const profile::Metric* samples = profile.find_metric("samples");
    const profile::FunctionId function = test::function_called(profile, name);
    std::uint64_t all = 0;
    for (std::size_t n = 0; samples != nullptr && n < profile.nodes().count(); ++n) {
      if (profile.nodes().function[n] == function) all += samples->value(profile::NodeId(n));
    }
    return all;
  };
  const auto without = take_times(both, with_hooks.parts(), "cpu", "base:cpu");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->profile.find_metric("samples"), nullptr);
  const auto with = take_times(both, with_hooks.parts(), "cpu", "base:cpu", true);
  ASSERT_TRUE(with);
  EXPECT_EQ(sum(with->profile, "a"), 4u);
  EXPECT_EQ(sum(with->profile, "b"), 2u);
  EXPECT_EQ(text_of(with->profile).find("c "), std::string::npos);
}

TEST(TakeTimes, EachCalleeKeepsItsOwnTime) {
  const auto result = taken(
      "main a -> 1\n"
      "main b -> 1\n"
      "main a memcpy = 1\n"
      "main a memset = 9\n"
      "main b memcpy = 5\n",
      "main a memcpy = 30\n"
      "main a memset = 10\n"
      "main b memcpy = 2\n");
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(text_of(result->profile),
            "[root]\n"
            ".main\n"
            "..a calls=1\n"
            "...memcpy cpu=30\n"
            "...memset cpu=10\n"
            "..b calls=1\n"
            "...memcpy cpu=2\n");
  EXPECT_EQ(result->below_ns, 0u);
}

TEST(TakeTimes, WithoutSamplesTimeIsDividedByCalls) {
  const auto result = taken(
      "main -> 1\n"
      "main a -> 1\n"
      "main a f -> 1\n"
      "main b -> 1\n"
      "main b f -> 2\n",
      "main b f = 10\n");
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(text_of(result->profile),
            "[root]\n"
            ".main calls=1\n"
            "..a calls=1\n"
            "...f cpu=3 calls=1\n"
            "..b calls=1\n"
            "...f cpu=7 calls=2\n");
}

TEST(TakeTimes, FunctionsMatchWithAndWithoutParameters) {
  const auto result = taken(
      "main -> 1\n"
      "main geo::area(int)const -> 1\n"
      "main over(int) -> 1\n"
      "main over(long) -> 1\n",
      "main geo::area = 5\n"
      "main over = 3\n");
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(text_of(result->profile),
            "[root]\n"
            ".main cpu=3 calls=1\n"
            "..geo::area(int)const cpu=5 calls=1\n"
            "..over(int) calls=1\n"
            "..over(long) calls=1\n");
}

TEST(TakeTimes, TheRestOfACoroutineIsNotItsBeginning) {
  const auto result = taken(
      "main -> 1\n"
      "main f(int) -> 1\n"
      "main g(int) -> 1\n"
      "main g(int)~[resume] -> 1\n",
      "main f(int)~[resume] = 5\n"
      "main g = 7\n"
      "main g~[resume] = 3\n");
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(text_of(result->profile),
            "[root]\n"
            ".main cpu=5 calls=1\n"
            "..f(int) calls=1\n"
            "..g(int) cpu=7 calls=1\n"
            "..g(int) [resume] cpu=3 calls=1\n");
}

TEST(TakeTimes, AnotherProgramIsRefused) {
  const auto none = taken("main -> 1\n", "other = 1\n");
  ASSERT_FALSE(none);
  EXPECT_TRUE(test::holds(none.error().line(), "was called in this run"));
}

TEST(TakeTimes, ARunWithoutHooksIsRefused) {
  const auto none = taken("main a = 1\n", "main a = 2\n");
  ASSERT_FALSE(none);
  EXPECT_TRUE(test::holds(none.error().line(), "no calls were counted"));
}

}  // namespace
}  // namespace fbleprof::transform
