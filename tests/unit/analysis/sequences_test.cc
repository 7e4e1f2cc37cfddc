#include "analysis/sequences.h"

#include <gtest/gtest.h>

#include <sstream>

#include "profile/builder.h"
#include "tests/support/profile_builder.h"

namespace fbleprof::analysis {
namespace {

using test::function_called;
using test::profile_of;

Sequence of(const profile::Profile& profile, const std::string& names) {
  std::vector<std::vector<std::uint8_t>> matches;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    matches.emplace_back(profile.functions().count());
    matches.back()[function_called(profile, word).index()] = 1;
  }
  return sequence({profile, *profile.find_metric("cpu")}, matches);
}

constexpr std::string_view kTree =
    "m a b c = 1\nm a b c x = 2\nm a b c -> 5\nm a b -> 3\nm a -> 1\n"
    "n a b c = 4\nn a b c y = 8\nn a b c -> 7\nn a b -> 2\nn a -> 1\n"
    "m d b c = 100\nm d b c -> 1000\nm a b = 16\nm a b c => m a b z : 9\n";

TEST(Sequence, HasCostsOfPrefixesCallersAndCallees) {
  const auto profile = profile_of(kTree);
  const Sequence found = of(profile, "a b c");
  ASSERT_EQ(found.steps.size(), 3u);
  EXPECT_EQ(found.steps[0].cost, 31u);
  EXPECT_EQ(found.steps[0].calls, 2u);
  EXPECT_EQ(found.steps[1].cost, 31u);
  EXPECT_EQ(found.steps[1].calls, 5u);
  EXPECT_EQ(found.steps[2].cost, 15u);
  EXPECT_EQ(found.steps[2].calls, 12u);
  EXPECT_FALSE(found.steps[2].cost_is_bound);
  EXPECT_EQ(found.self, 5u);
  const auto name = [&](profile::FunctionId f) { return display_name(profile, f); };
  ASSERT_EQ(found.in.size(), 2u);
  EXPECT_EQ(name(found.in[0].caller), "n");
  EXPECT_EQ(found.in[0].cost, 12u);
  EXPECT_EQ(found.in[0].calls, 7u);
  EXPECT_EQ(found.in[1].cost, 3u);
  EXPECT_EQ(found.in[1].calls, 5u);
  ASSERT_EQ(found.out.size(), 3u);
  EXPECT_EQ(name(found.out[0].callee), "y");
  EXPECT_EQ(found.out[0].cost, 8u);
  EXPECT_TRUE(found.out[2].is_tail);
  EXPECT_EQ(found.out[2].calls, 9u);
  ASSERT_EQ(found.contexts.size(), 2u);
}

TEST(Sequence, SequenceOfOneFunctionEqualsTheBlockView) {
  const auto profile = profile_of(kTree);
  const Sequence found = of(profile, "b");
  EXPECT_EQ(found.steps[0].cost, 131u);
  ASSERT_EQ(found.in.size(), 2u);
  EXPECT_EQ(found.in[0].cost, 100u);
  EXPECT_EQ(found.in[1].calls, 5u);
}

TEST(Sequence, MissingSequenceCostsNothing) {
  const auto profile = profile_of(kTree);
  const Sequence found = of(profile, "m b");
  EXPECT_EQ(found.steps[0].cost, 119u);
  EXPECT_EQ(found.steps[1].cost, 0u);
  EXPECT_TRUE(found.contexts.empty());
}

TEST(Sequence, RecursionCountsAPathOnce) {
  const auto profile = profile_of(
      "f = 1\nf -> 1\nf f = 2\nf f -> 1\nf f ~> f f : 8\nf f g = 4\nf f g -> 10\nf g = 8\n"
      "f g -> 1\n");
  const Sequence found = of(profile, "f f");
  EXPECT_EQ(found.steps[1].cost, 6u);
  EXPECT_EQ(found.steps[1].calls, 9u);
  EXPECT_FALSE(found.steps[1].cost_is_bound);
  const Sequence to_g = of(profile, "f g");
  EXPECT_EQ(to_g.steps[1].cost, 12u);
  EXPECT_EQ(to_g.steps[1].calls, 11u);
}

TEST(Sequence, CostBehindABackEdgeIsALowerBound) {
  // c calls a again, which is charged above: c is on those paths, unseen.
  const auto profile = profile_of("a b c = 1\na b c -> 4\na b c ~> a : 3\na b = 2\na -> 1\n");
  const Sequence found = of(profile, "b c");
  EXPECT_TRUE(found.steps[0].cost_is_bound);
  EXPECT_TRUE(found.steps[1].cost_is_bound);
  EXPECT_FALSE(of(profile, "a").steps[0].cost_is_bound);
}

TEST(Sequence, CallsThroughMixedContextsAreApproximate) {
  // x's second way into c comes from a b that q called: c's calls of d are of both.
  const auto profile = profile_of(
      "a b c d = 1\na b c d -> 5\na b c q b = 1\na b c q b ~> a b c : 2\na b c -> 1\n"
      "a b c q -> 1\na b c q b -> 1\na b -> 1\n");
  EXPECT_TRUE(of(profile, "a b c d").steps[3].calls_are_about);
  EXPECT_FALSE(of(profile, "a b c").steps[2].calls_are_about);
  EXPECT_FALSE(of(profile, "b c d").steps[2].calls_are_about);
}

TEST(Sequence, CallersOfMixedContextsAreApproximate) {
  // b calls f, which calls e, which calls f again: e's calls of g are of both.
  const auto profile = profile_of(
      "b f e = 1\nb f e -> 20\nb f e g -> 50\nb f e f = 1\nb f e f -> 30\nb f e f ~> b f e : 30\n");
  const auto callers = [&](const std::string& names) {
    std::string text;
    for (const PairRow& row : of(profile, names).in) {
      text += display_name(profile, row.caller) + (row.calls_are_about ? " about " : " ") +
              std::to_string(row.calls) + "\n";
    }
    return text;
  };
  EXPECT_EQ(callers("f e g"), "b about 50\n");
  EXPECT_EQ(callers("f e"), "b 20\ne 30\n");
  EXPECT_EQ(callers("e g"), "f 50\n");
}

TEST(Sequence, UncountedStepsAreMarked) {
  profile::ProfileBuilder builder;
  builder.add_metric("cpu", "ns");
  const auto root =
      builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot));
  const auto a = builder.child(root, builder.named_function("a"));
  const auto b = builder.child(a, builder.named_function("b"));
  builder.add_edge(root, a, profile::EdgeKind::kTree, 5);
  builder.add_edge(a, b, profile::EdgeKind::kTree, 0, format::kEdgeSampled);
  const auto profile = builder.build();
  const Sequence found = of(profile, "a b");
  EXPECT_FALSE(found.steps[0].is_sampled);
  EXPECT_TRUE(found.steps[1].is_sampled);
  EXPECT_TRUE(found.in[0].is_sampled);
  EXPECT_TRUE(of(profile, "a").out[0].is_sampled);
}

TEST(Sequence, TailCallsAreCountedSeparately) {
  const auto profile = profile_of("m a = 1\nm b = 2\nm a => m b : 6\nm b -> 1\n");
  const Sequence found = of(profile, "a b");
  EXPECT_EQ(found.steps[1].tail_calls, 6u);
  EXPECT_EQ(found.steps[1].calls, 0u);
  EXPECT_EQ(found.steps[1].cost, 0u);
}

}  // namespace
}  // namespace fbleprof::analysis
