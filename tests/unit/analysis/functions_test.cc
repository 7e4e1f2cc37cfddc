#include "analysis/functions.h"

#include <gtest/gtest.h>

#include "analysis/costs.h"
#include "analysis/hot_path.h"
#include "tests/support/profile_builder.h"
#include "transform/filter.h"
#include "transform/merge.h"

namespace fbleprof::analysis {
namespace {

using test::function_called;
using test::profile_of;

FunctionRow row(const profile::Profile& profile, std::string_view name) {
  for (const FunctionRow& row : function_table({profile, *profile.find_metric("cpu")})) {
    if (row.function == function_called(profile, name)) return row;
  }
  return {};
}

TEST(FunctionTable, APathCountsOnceForEachFunction) {
  const auto profile = profile_of("a = 1\na b = 2\na b b = 4\na b b c = 8\na b b c b = 16\n");
  EXPECT_EQ(row(profile, "b").self, 22u);
  EXPECT_EQ(row(profile, "b").dominated, 30u);
  EXPECT_EQ(row(profile, "a").dominated, 31u);
  EXPECT_EQ(row(profile, "c").dominated, 24u);
}

TEST(FunctionTable, CallsOfAllEdgesCount) {
  const auto profile =
      profile_of("a -> 1\na b -> 2\na b b -> 3\na b b ~> a b b : 4\na b => a c : 5\n");
  EXPECT_EQ(row(profile, "b").calls, 9u);
  EXPECT_EQ(row(profile, "c").calls, 5u);
}

TEST(FunctionTable, CostBehindABackEdgeGivesALowerBound) {
  // a b c a: what the second a does is charged below the first, though b and c stand on its path.
  const auto profile = profile_of("a = 1\na b = 2\na b c = 4\na b c ~> a : 9\nd = 1\n");
  EXPECT_FALSE(row(profile, "a").dominated_is_bound);
  EXPECT_TRUE(row(profile, "b").dominated_is_bound);
  EXPECT_TRUE(row(profile, "c").dominated_is_bound);
  EXPECT_FALSE(row(profile, "d").dominated_is_bound);
}

TEST(FunctionTable, CostBehindAFoldedFunctionIsALowerBound) {
  // What the second b does is charged to the first: to a, into which it is folded.
  const auto merged =
      transform::merge(profile_of("a b = 1\na b c = 2\na b c d = 4\na b c d ~> a b : 9\n"));
  const auto folded = transform::filter(merged, {.fold = {"b"}});
  ASSERT_TRUE(folded.ok());
  EXPECT_FALSE(row(folded->profile, "a").dominated_is_bound);
  EXPECT_TRUE(row(folded->profile, "c").dominated_is_bound);
  EXPECT_TRUE(row(folded->profile, "d").dominated_is_bound);
  // Also in a part of it.
  const auto part = transform::filter(folded->profile, {.select = {"c"}});
  ASSERT_TRUE(part.ok());
  EXPECT_TRUE(row(part->profile, "c").dominated_is_bound);
}

TEST(FunctionTable, RecursionIntoItselfIsExact) {
  const auto profile = profile_of("a b = 2\na b b = 3\na b b ~> a b b : 9\n");
  EXPECT_FALSE(row(profile, "b").dominated_is_bound);
  EXPECT_EQ(row(profile, "b").dominated, 5u);
}

TEST(HotPath, EndsAtTheFirstFork) {
  const auto profile = profile_of("a b c = 30\na b d = 29\na b = 10\ne = 5\n");
  std::string names;
  for (const auto node : hot_path({profile, *profile.find_metric("cpu")})) {
    names += display_name(profile, profile.nodes().function[node.index()]);
  }
  EXPECT_EQ(names, "ab");
}

TEST(Costs, TotalIsTheSumOfAllSelfValues) {
  const auto profile = profile_of("a b = 2\nthread two\na = 3\n");
  EXPECT_EQ(total(profile, *profile.find_metric("cpu")), 5u);
  EXPECT_EQ(inclusive(profile, *profile.find_metric("cpu"))[0], 2u);
}

}  // namespace
}  // namespace fbleprof::analysis
