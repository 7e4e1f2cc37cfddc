// What can be seen of a tree.
#include "analysis/visible_tree.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/profile_builder.h"

namespace fbleprof::analysis {
namespace {

using namespace profile;

// "a > b: 7", by path of names.
std::map<std::string, std::uint64_t> costs_of(const Profile& profile,
                                              const std::vector<VisibleNode>& nodes) {
  std::vector<std::string> paths;
  std::map<std::string, std::uint64_t> costs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = display_name(profile, nodes[i].function);
    paths.push_back(i == 0 ? name : paths[nodes[i].parent] + " " + name);
    costs[paths.back()] = nodes[i].cost;
  }
  return costs;
}

class VisibleTree : public testing::Test {
 protected:
  std::vector<NodeId> all_called(std::string_view name) const {
    std::vector<NodeId> contexts;
    for (std::size_t n = 0; n < profile_.nodes().count(); ++n) {
      if (display_name(profile_, profile_.nodes().function[n]) == name) contexts.emplace_back(n);
    }
    return contexts;
  }

  const Profile profile_ = test::profile_of("a b x = 5\nc b x = 3\na x = 2\nd = 90\n");
  const Costs costs_{profile_, *profile_.find_metric("cpu")};
};

TEST_F(VisibleTree, ShowsTheMostExpensiveFirst) {
  const auto nodes = visible_callees(costs_, {NodeId(0)}, {2, 0});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(display_name(profile_, nodes[1].function), "d");
  EXPECT_EQ(nodes[0].hidden, 2u);
  EXPECT_EQ(nodes[0].hidden_cost, 10u);
}

TEST_F(VisibleTree, LeavesOutWhatIsTooCheap) {
  EXPECT_EQ(visible_callees(costs_, {NodeId(0)}, {100, 50}).size(), 2u);
}

TEST_F(VisibleTree, UpsideDownCallersStandBelowTheirCallees) {
  const auto costs = costs_of(profile_, visible_inverted(costs_, {100, 0}));
  EXPECT_EQ(costs.at("[root] x"), 10u);
  EXPECT_EQ(costs.at("[root] x b"), 8u);
  EXPECT_EQ(costs.at("[root] x b a"), 5u);
  EXPECT_EQ(costs.at("[root] x a"), 2u);
  EXPECT_EQ(costs.at("[root] d"), 90u);
}

TEST_F(VisibleTree, OfMaximaTheGreatestIsShown) {
  Metric longest = *profile_.find_metric("cpu");
  longest.aggregation = Aggregation::kMax;
  const Costs greatest(profile_, longest);
  const auto costs = costs_of(profile_, visible_inverted(greatest, {100, 0}));
  EXPECT_EQ(costs.at("[root] x"), 5u);
  EXPECT_EQ(costs.at("[root] x b"), 5u);
  EXPECT_EQ(costs.at("[root] x a"), 2u);
  EXPECT_EQ(visible_callees(greatest, {NodeId(0)}, {2, 0})[0].hidden_cost, 5u);
}

TEST_F(VisibleTree, OfMaximaTheGreatestChangeIsThatOfAGroup) {
  Metric longest = *profile_.find_metric("cpu");
  longest.aggregation = Aggregation::kMax;
  const Costs greatest(profile_, longest);
  const Diff diff = analysis::diff(profile_, {.now = longest, .base = longest});
  const VisibleNode group = visible_callees(greatest, all_called("b"), {100, 0}, &diff)[0];
  EXPECT_EQ(group.change.base, 5u);
  EXPECT_EQ(group.change.now, 5u);
}

TEST_F(VisibleTree, AroundAFunctionContextsAreOne) {
  const std::vector<NodeId> contexts = all_called("b");
  const auto down = costs_of(profile_, visible_callees(costs_, contexts, {100, 0}));
  EXPECT_EQ(down.at("b"), 8u);
  EXPECT_EQ(down.at("b x"), 8u);
  const auto up = costs_of(profile_, visible_callers(costs_, contexts, {100, 0}));
  EXPECT_EQ(up.at("b a"), 5u);
  EXPECT_EQ(up.at("b c"), 3u);
}

}  // namespace
}  // namespace fbleprof::analysis
