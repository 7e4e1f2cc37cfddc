#include "analysis/rollup.h"

#include <gtest/gtest.h>

#include "tests/support/profile_builder.h"

namespace fbleprof::analysis {
namespace {

using test::function_called;
using test::profile_of;

// a and b are part 0, c is part 1, everything else is none.
std::vector<RollupRow> rows_of(const profile::Profile& profile) {
  std::vector<std::uint32_t> part_of(profile.functions().count(), kNoPart);
  const auto put = [&](const char* name, std::uint32_t part) {
    if (const auto f = function_called(profile, name)) part_of[f.index()] = part;
  };
  put("a", 0);
  put("b", 0);
  put("c", 1);
  return rollup({profile, *profile.find_metric("cpu")}, part_of);
}

TEST(Rollup, WaitsBelongToThePartThatWaits) {
  const auto profile = profile_of("a wait = 1\nc wait = 2\nc wait who = 4\nx wait = 8\n");
  std::vector<std::uint32_t> part_of(profile.functions().count(), kNoPart);
  part_of[function_called(profile, "a").index()] = 0;
  part_of[function_called(profile, "c").index()] = 1;
  part_of[function_called(profile, "wait").index()] = kPartOfCaller;
  part_of[function_called(profile, "who").index()] = kPartOfCaller;
  const auto rows = rollup({profile, *profile.find_metric("cpu")}, part_of);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].self, 1u);
  EXPECT_EQ(rows[1].self, 6u);
  EXPECT_EQ(rows[1].dominated, 6u);
  EXPECT_EQ(rows[1].functions, 1u);
}

TEST(Rollup, APathCountsOnceForEachPart) {
  const auto rows = rows_of(profile_of("a = 1\na b = 2\na c = 4\na c b = 8\nx = 16\n"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].self, 11u);
  EXPECT_EQ(rows[0].dominated, 15u);
  EXPECT_EQ(rows[0].functions, 2u);
  EXPECT_EQ(rows[1].self, 4u);
  EXPECT_EQ(rows[1].dominated, 12u);
}

TEST(Rollup, EntriesCountCallsFromOutside) {
  const auto rows = rows_of(profile_of("a -> 1\na b -> 10\na b a -> 5\na c -> 3\na c b -> 7\n"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].calls, 23u);
  EXPECT_EQ(rows[0].entries, 8u);
  EXPECT_EQ(rows[1].calls, 3u);
  EXPECT_EQ(rows[1].entries, 3u);
}

TEST(Rollup, BackEdgesCountAndGiveLowerBounds) {
  const auto rows = rows_of(profile_of("x c = 1\nx c y = 2\nx c y ~> x : 4\nx c ~> x c : 6\n"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].dominated_is_bound);
  EXPECT_EQ(rows[0].calls, 6u);
  EXPECT_EQ(rows[0].entries, 0u);
}

}  // namespace
}  // namespace fbleprof::analysis
