#include "transform/depth.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/profile_builder.h"

namespace fbleprof::transform {
namespace {

using profile::Profile;

std::uint64_t cost(const Profile& profile) {
  std::uint64_t sum = 0;
  const profile::Metric* cpu = profile.find_metric("cpu");
  for (std::size_t n = 0; n < profile.nodes().count(); ++n) sum += cpu->value(profile::NodeId(n));
  return sum;
}

std::uint64_t calls(const Profile& profile) {
  std::uint64_t sum = 0;
  const profile::Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) sum += edges.calls[e];
  return sum;
}

TEST(Depth, WhatIsDeeperStandsByCallerAndCallee) {
  const Profile whole = test::profile_of(
      "a b = 1\na b -> 2\na b c = 4\na b c -> 3\na b c d = 8\na b c d -> 5\na b c d c = 16\n"
      "a b c d c -> 7\n");
  EXPECT_EQ(test::text_of(fold_deeper(whole, 2)),
            "[root]\n"
            ".a\n"
            "..b cpu=1 calls=2\n"
            "...[deeper]\n"
            "....b\n"
            ".....c cpu=4 calls=3\n"
            "....c\n"
            ".....d cpu=8 calls=5\n"
            "....d\n"
            ".....c cpu=16 calls=7\n");
}

TEST(Depth, NothingChangesWhereNothingIsDeeper) {
  const Profile whole = test::profile_of("a b = 1\na b -> 2\na c = 3\na b ~> a : 4\n");
  EXPECT_EQ(test::text_of(fold_deeper(whole, 9)), test::text_of(whole));
}

TEST(Depth, FoldingTwiceIsFoldingOnce) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Profile whole = test::profile_of(test::random_paths(seed, 100, 24, 6));
    const Profile once = fold_deeper(whole, 3);
    EXPECT_EQ(test::text_of(fold_deeper(once, 3)), test::text_of(once)) << seed;
  }
}

TEST(Depth, NoCostAndNoCallIsLost) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Profile whole = test::profile_of(test::random_paths(seed, 200, 24, 6));
    for (const std::uint32_t limit : {1u, 2u, 5u}) {
      const Profile folded = fold_deeper(whole, limit);
      EXPECT_EQ(cost(folded), cost(whole)) << seed;
      EXPECT_EQ(calls(folded), calls(whole)) << seed;
      EXPECT_EQ(depth_limit(folded), limit);
    }
  }
}

}  // namespace
}  // namespace fbleprof::transform
