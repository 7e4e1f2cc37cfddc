// A copied part equals the rebuilt part.
#include "transform/subset.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/profile_builder.h"
#include "transform/merge.h"
#include "transform/rebuild.h"

namespace fbleprof::transform {
namespace {

// Paths of a few functions, with back and tail edges among them.
profile::Profile random_profile(unsigned seed) {
  return merge(test::profile_of(test::random_paths(seed, 200, 16, 6)));
}

TEST(Subset, EqualsTheRebuiltProfile) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const profile::Profile all = random_profile(seed);
    const auto& nodes = all.nodes();
    std::mt19937 random(seed * 977);
    Rebuilding how;
    how.kept_own.resize(nodes.count());
    for (auto& own : how.kept_own) own = random() % 3 != 0;
    how.kept_subtree = how.kept_own;
    for (std::size_t n = nodes.count(); n-- > 1;) {
      how.kept_subtree[nodes.parent[n].index()] |= how.kept_subtree[n];
    }
    how.kept_subtree[0] = 1;
    how.paths_differ = true;
    how.root = nodes.function[0];
    const auto part = subset(all, how.kept_subtree, how.kept_own);
    ASSERT_TRUE(part.has_value()) << seed;
    EXPECT_EQ(test::text_of(*part), test::text_of(rebuild(all, how))) << seed;
  }
}

TEST(Subset, RefusesProfilesThatWereNotMerged) {
  const profile::Profile two = test::profile_of("a = 1\nthread other\nb = 1\n");
  const std::vector<std::uint8_t> kept(two.nodes().count(), 1);
  EXPECT_FALSE(subset(two, kept, kept).has_value());
}

}  // namespace
}  // namespace fbleprof::transform
