// Tables of a metric that does not add up, such as the longest wait: no figure exceeds the total.
#include <gtest/gtest.h>

#include <string_view>

#include "analysis/cliques.h"
#include "analysis/costs.h"
#include "analysis/functions.h"
#include "analysis/pair_table.h"
#include "analysis/rollup.h"
#include "analysis/sequences.h"
#include "profile/builder.h"
#include "tests/support/profile_builder.h"

namespace fbleprof::analysis {
namespace {

using namespace profile;

// main calls a and b; both call wait, which lasts up to 30 and up to 50. b calls itself, too.
Profile waits() {
  ProfileBuilder builder;
  const MetricId longest = builder.add_metric("longest", "ns", Aggregation::kMax);
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const auto below = [&](NodeId parent, std::string_view name) {
    return builder.child(parent, builder.named_function(name));
  };
  const NodeId main = below(root, "main"), a = below(main, "a"), b = below(main, "b");
  builder.charge(below(a, "wait"), longest, 30);
  builder.charge(below(b, "wait"), longest, 50);
  builder.charge(below(below(b, "b"), "wait"), longest, 40);
  return builder.build();
}

class Maxima : public testing::Test {
 protected:
  std::vector<std::uint8_t> only(const char* name) const {
    std::vector<std::uint8_t> wanted(profile_.functions().count());
    wanted[test::function_called(profile_, name).index()] = 1;
    return wanted;
  }

  const Profile profile_ = waits();
  const Costs costs_{profile_, *profile_.find_metric("longest")};
};

TEST_F(Maxima, AFunctionHasTheGreatestOfItsContexts) {
  EXPECT_EQ(costs_.total(), 50u);
  for (const FunctionRow& row : function_table(costs_)) {
    const auto name = display_name(profile_, row.function);
    EXPECT_EQ(row.dominated, name == "a" ? 30u : 50u) << name;
    EXPECT_EQ(row.self, name == "wait" ? 50u : 0u) << name;
  }
}

TEST_F(Maxima, SoHaveACallAPartAndASequence) {
  for (const PairRow& row : pair_table(costs_, only("wait"))) {
    EXPECT_EQ(row.cost, display_name(profile_, row.caller) == "a" ? 30u : 50u);
  }
  const std::vector<std::uint32_t> one_part(profile_.functions().count(), 0);
  EXPECT_EQ(rollup(costs_, one_part).front().self, 50u);
  const Sequence found = sequence(costs_, {only("wait")});
  EXPECT_EQ(found.self, 50u);
  EXPECT_EQ(found.steps.front().cost, 50u);
}

TEST_F(Maxima, SoHasRecursion) {
  for (const Clique& clique : find_cliques(costs_).cliques) {
    EXPECT_LE(clique.cost, 50u);
    EXPECT_LE(clique.self, 50u);
    for (const CliqueMember& member : clique.members) EXPECT_LE(member.children, 50u);
  }
}

}  // namespace
}  // namespace fbleprof::analysis
