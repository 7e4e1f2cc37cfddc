#include "analysis/cliques.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/clique_contexts.h"
#include "analysis/compact_path.h"
#include "analysis/components.h"
#include "tests/support/profile_builder.h"
#include "transform/filter.h"
#include "transform/merge.h"

namespace fbleprof::analysis {
namespace {

using test::function_called;
using test::profile_of;

std::string name(const profile::Profile& profile, profile::FunctionId f) {
  return display_name(profile, f);
}

const Clique& clique_of(const profile::Profile& profile, const Cliques& cliques,
                        std::string_view function) {
  return cliques.cliques[cliques.of[function_called(profile, function).index()]];
}

TEST(Components, FindsCyclesAndOrdersThemCalleesFirst) {
  // 0 -> 1 <-> 2 -> 3, 4 -> 4
  const auto found = components(5, {{0, 1}, {1, 2}, {2, 1}, {2, 3}, {4, 4}});
  EXPECT_EQ(found[1], found[2]);
  EXPECT_NE(found[0], found[1]);
  EXPECT_GT(found[0], found[1]);
  EXPECT_GT(found[1], found[3]);
}

TEST(Components, LongChainsDoNotNeedADeepStack) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  constexpr std::uint32_t kCount = 1000000;
  for (std::uint32_t i = 0; i < kCount; ++i) edges.emplace_back(i, (i + 1) % kCount);
  const auto found = components(kCount, edges);
  EXPECT_EQ(found[0], found[kCount - 1]);
}

TEST(Cliques, CostOfACliqueIsThatOfItsEntry) {
  // main -> even <-> odd, both call leaf; the second even is folded.
  const auto profile = profile_of(
      "main even = 1\nmain even -> 10\nmain even odd = 2\nmain even odd -> 50\n"
      "main even odd even = 4\nmain even odd even -> 30\nmain even odd even ~> main even odd : 20\n"
      "main even leaf = 8\nmain even odd leaf = 16\nmain even odd even leaf = 32\n");
  const Cliques cliques = find_cliques({profile, *profile.find_metric("cpu")});
  const Clique& clique = clique_of(profile, cliques, "odd");
  EXPECT_EQ(&clique, &clique_of(profile, cliques, "even"));
  EXPECT_EQ(clique.recursion, Recursion::kMutual);
  EXPECT_EQ(clique.cost, 63u);
  EXPECT_EQ(clique.self, 7u);
  EXPECT_EQ(clique.entries, 10u);
  EXPECT_EQ(clique.inside_calls, 100u);
  EXPECT_EQ(clique.depth, 3u);
  EXPECT_TRUE(clique.depth_is_bound);
  ASSERT_EQ(clique.members.size(), 2u);
  EXPECT_EQ(name(profile, clique.members[0].function), "even");
  EXPECT_EQ(clique.members[0].self, 5u);
  EXPECT_EQ(clique.members[0].children, 40u);
  EXPECT_EQ(clique.members[0].entry_cost, 63u);
  EXPECT_EQ(clique.members[0].entries, 10u);
  EXPECT_EQ(clique.members[0].inside_calls, 30u);
  EXPECT_EQ(clique.members[1].self + clique.members[1].children, 18u);
  EXPECT_EQ(clique.members[1].entry_cost, 0u);
  std::uint64_t sum = 0;
  for (const CliqueMember& member : clique.members) sum += member.self + member.children;
  EXPECT_EQ(sum, clique.cost);
}

TEST(Cliques, MissingFramesAreNoRecursion) {
  const auto profile = profile_of(
      "main f = 1\nmain f [truncated] = 2\nmain f [truncated] g = 4\nmain f [truncated] g f = 8\n"
      "main f [truncated] g f [truncated] g = 16\n");
  const Cliques cliques = find_cliques({profile, *profile.find_metric("cpu")});
  for (const char* function : {"f", "g", "[truncated]"}) {
    const Clique& clique = clique_of(profile, cliques, function);
    ASSERT_EQ(clique.members.size(), 1u) << function;
    EXPECT_EQ(clique.recursion, Recursion::kNone) << function;
    EXPECT_EQ(clique.members[0].self + clique.members[0].children, clique.cost) << function;
  }
  EXPECT_EQ(clique_of(profile, cliques, "f").cost, 31u);
  EXPECT_EQ(clique_of(profile, cliques, "[truncated]").cost, 30u);
  EXPECT_EQ(clique_of(profile, cliques, "g").cost, 28u);
}

TEST(Cliques, DistinguishesChainsFromTreesOfCalls) {
  const auto profile = profile_of(
      "main fac -> 2\nmain fac fac -> 2\nmain fac fac ~> main fac fac : 16\n"
      "main fib -> 1\nmain fib fib -> 2\nmain fib fib ~> main fib fib : 100\n"
      "main once -> 5\n");
  const Cliques cliques = find_cliques({profile, *profile.find_metric("cpu")});
  const Clique& fac = clique_of(profile, cliques, "fac");
  EXPECT_EQ(fac.recursion, Recursion::kSingle);
  EXPECT_EQ(fac.depth, 10u);  // 20 calls from 2 entries, one below the other
  EXPECT_TRUE(fac.depth_is_bound);
  const Clique& fib = clique_of(profile, cliques, "fib");
  EXPECT_EQ(fib.recursion, Recursion::kSeveral);
  EXPECT_EQ(fib.depth, 2u);
  EXPECT_EQ(clique_of(profile, cliques, "once").recursion, Recursion::kNone);
}

TEST(Cliques, WithoutCountsTheKindIsUnknown) {
  const auto profile = profile_of("main f = 1\nmain f f = 2\n");
  const Cliques cliques = find_cliques({profile, *profile.find_metric("cpu")});
  EXPECT_EQ(clique_of(profile, cliques, "f").recursion, Recursion::kSelf);
  EXPECT_FALSE(clique_of(profile, cliques, "f").depth_is_bound);
}

TEST(Cliques, KindBehindAFoldedFunctionIsUnknown) {
  // f calls itself once per call, through g.
  const auto merged = transform::merge(
      profile_of("f = 1\nf -> 1\nf g -> 20\nf g f = 2\nf g f -> 20\nf g f ~> f g : 19\n"));
  const auto folded = transform::filter(merged, {.fold = {"g"}});
  ASSERT_TRUE(folded.ok());
  const profile::Profile& profile = folded->profile;
  const Cliques cliques = find_cliques({profile, *profile.find_metric("cpu")});
  EXPECT_EQ(clique_of(profile, cliques, "f").recursion, Recursion::kSelf);
  EXPECT_TRUE(clique_of(profile, cliques, "f").depth_is_bound);
}

TEST(Cliques, ACycleOfTailCallsIsRecursion) {
  const auto profile = profile_of(
      "main ping = 1\nmain ping -> 1\nmain pong = 2\nmain ping => main pong : 9\n"
      "main pong => main ping : 8\n");
  const Cliques cliques = find_cliques({profile, *profile.find_metric("cpu")});
  const Clique& clique = clique_of(profile, cliques, "pong");
  EXPECT_EQ(clique.recursion, Recursion::kMutual);
  EXPECT_EQ(clique.cost, 3u);
  EXPECT_EQ(clique.inside_calls, 17u);
  EXPECT_EQ(clique.entries, 1u);
}

TEST(CliqueContexts, CallsAreGroupedByTheChainOfTheirAncestors) {
  const auto profile = profile_of(
      "main f h i = 20\nmain f h i -> 10\nmain g h i = 28\nmain g h i -> 7\n"
      "main g h h i = 2\nmain g h h -> 4\nmain g h h i -> 1\n");
  const auto& metric = *profile.find_metric("cpu");
  const Cliques cliques = find_cliques({profile, metric});
  const CliqueContexts contexts =
      clique_contexts({profile, metric}, cliques, PairIndex(profile), 1000);
  const auto chain = [&](std::uint32_t at) {
    std::string text;
    for (; at != kNoClique; at = contexts.chains[at].parent) {
      text = name(profile, cliques.cliques[contexts.chains[at].clique].members[0].function) + " " +
             text;
    }
    return text;
  };
  std::vector<std::string> rows;
  for (const CliqueCall& call : contexts.calls) {
    if (name(profile, call.caller) != "h") continue;
    rows.push_back(chain(call.chain) + "| " + name(profile, call.callee) + " " +
                   std::to_string(call.calls) + " " + std::to_string(call.cost));
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::string>{"main f h | i 10 20", "main g h | h 4 0",
                                            "main g h | i 8 30"}));
}

TEST(CliqueContexts, AChainDoesNotDependOnTheDepthOfRecursion) {
  const auto profile = profile_of(
      "main f g h i = 1\n"
      "main f f g h i = 1\n");
  const auto& metric = *profile.find_metric("cpu");
  const Cliques cliques = find_cliques({profile, metric});
  const CliqueContexts contexts =
      clique_contexts({profile, metric}, cliques, PairIndex(profile), 1000);
  std::vector<std::string> rows;
  for (const CliqueCall& call : contexts.calls) {
    rows.push_back(name(profile, call.caller) + " " + name(profile, call.callee) + " " +
                   std::to_string(call.cost));
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::string>{"f f 0", "f g 2", "g h 2", "h i 2", "main f 2"}));
}

std::string compact(const std::string& path) {
  const auto profile = profile_of(path + " = 1\n");
  const auto last = profile::NodeId(profile.nodes().count() - 1);
  std::string text;
  for (const PathPart& part : compact_path(path_to(profile, last))) {
    std::string names;
    for (const auto f : part.functions) names += (names.empty() ? "" : " ") + name(profile, f);
    if (part.functions.size() > 1) names = "(" + names + ")";
    text += (text.empty() ? "" : " ") + names + (part.repeats ? "*" : "");
  }
  return text;
}

TEST(CompactPath, RepetitionsAreShownOnce) {
  EXPECT_EQ(compact("a b c b d e e f"), "a (b c)* d e* f");
  EXPECT_EQ(compact("a b c"), "a b c");
  EXPECT_EQ(compact("a b a b c"), "(a b)* c");
  EXPECT_EQ(compact("a b c a d b e"), "(a b c d)* e");
  EXPECT_EQ(compact("a a a"), "a*");
}

}  // namespace
}  // namespace fbleprof::analysis
