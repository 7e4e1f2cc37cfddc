#include "analysis/in_and_out.h"

#include <gtest/gtest.h>

#include "tests/support/profile_builder.h"

namespace fbleprof::analysis {
namespace {

using test::function_called;
using test::profile_of;

TEST(InAndOut, SplitsCostsByCallersAndCallees) {
  const auto profile = profile_of(
      "a x = 1\na x -> 2\na x x = 2\na x x -> 3\na x x ~> a x x : 4\na x x y = 10\nb x y = 20\n"
      "b x -> 5\na x => a z : 6\n");
  const InAndOut x =
      in_and_out({profile, *profile.find_metric("cpu")}, function_called(profile, "x"));
  EXPECT_EQ(x.totals.self, 3u);
  EXPECT_EQ(x.totals.dominated, 33u);
  EXPECT_EQ(x.totals.calls, 14u);

  const auto name = [&](profile::FunctionId f) { return display_name(profile, f); };
  ASSERT_EQ(x.in.size(), 3u);
  EXPECT_EQ(name(x.in[0].caller), "b");
  EXPECT_EQ(x.in[0].cost, 20u);
  EXPECT_EQ(name(x.in[1].caller), "a");
  EXPECT_EQ(x.in[1].cost, 13u);
  EXPECT_EQ(name(x.in[2].caller), "x");
  EXPECT_EQ(x.in[2].cost, 12u);
  EXPECT_EQ(x.in[2].calls, 7u);

  ASSERT_EQ(x.out.size(), 3u);
  EXPECT_EQ(name(x.out[0].callee), "y");
  EXPECT_EQ(x.out[0].cost, 30u);
  EXPECT_EQ(name(x.out[1].callee), "x");
  EXPECT_TRUE(x.out[2].is_tail);
  EXPECT_EQ(x.out[2].calls, 6u);
}

}  // namespace
}  // namespace fbleprof::analysis
