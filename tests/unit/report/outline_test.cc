#include "transform/outline.h"

#include <gtest/gtest.h>

#include "analysis/run_facts.h"
#include "tests/support/shown.h"
#include "transform/join.h"

namespace fbleprof::report {
namespace {

using analysis::run_facts;
using analysis::tree_total;
using test::profile_of;
using transform::join;
using transform::outline;

constexpr const char* kRun =
    "a b = 5\na b -> 3\na b ~> a : 2\nthread worker\nw x = 3\nw x y = 1\nw -> 4\n";

TEST(Outline, HasNoNodesAndTheSameFigures) {
  const auto whole = profile_of(kRun);
  const auto outlined = outline(whole);
  EXPECT_EQ(outlined.nodes().count(), 0u);
  EXPECT_EQ(outlined.functions().count(), 0u);
  ASSERT_EQ(outlined.trees().size(), 2u);
  const auto before = run_facts(whole, {}), after = run_facts(outlined, {});
  EXPECT_EQ(after.node_count, before.node_count);
  EXPECT_EQ(after.edge_count, before.edge_count);
  EXPECT_EQ(after.deepest, before.deepest);
  EXPECT_EQ(after.calls, before.calls);
  EXPECT_EQ(tree_total(outlined, outlined.find_metric("cpu"), outlined.trees()[1]), 4u);
}

TEST(Outline, ViewsOfRunsDoNotChange) {
  const auto runs = [](bool outlined) {
    std::vector<profile::Profile> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(outlined ? outline(profile_of(kRun)) : profile_of(kRun));
    }
    return join(all);
  };
  const auto summary_and_threads = [](const profile::Profile& profile, const Look& look) {
    const analysis::Costs costs(profile, *profile.find_metric("cpu"));
    const Request request{.costs = costs, .look = look, .runs = profile};
    return render(*find_view("summary")->show(request), look) +
           render(*find_view("threads")->show(request), look);
  };
  for (const auto format : {Format::kText, Format::kJson, Format::kCsv}) {
    EXPECT_EQ(summary_and_threads(runs(true), {.format = format}),
              summary_and_threads(runs(false), {.format = format}));
  }
}

}  // namespace
}  // namespace fbleprof::report
