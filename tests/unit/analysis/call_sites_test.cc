#include "analysis/call_sites.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "tests/support/profile_builder.h"
#include "transform/filter.h"
#include "transform/merge.h"

namespace fbleprof::analysis {
namespace {

using namespace profile;

// main calls work at two places: 3 times for 10 ns each, 1 time for 5 ns. As for two return
// addresses, the recorder keeps them as two functions of the same name.
Profile recorded(bool with_sites) {
  ProfileBuilder builder;
  Process process;
  process.flags = with_sites ? format::kHeaderCallSites : 0;
  const ProcessId run = builder.add_process(process);
  const ModuleId module = builder.add_module({builder.string("/bin/prog"), {}, 0});
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot), run);
  const NodeId main = builder.child(root, builder.named_function("main"));
  const auto add = [&](std::uint64_t site, std::uint64_t calls, std::uint64_t cost) {
    const FunctionId work = builder.add_function({.kind = FunctionKind::kNative,
                                                  .module = module,
                                                  .address = 64,
                                                  .name = builder.string("work")});
    const NodeId node = builder.child(main, work);
    builder.charge(node, cpu, cost);
    builder.add_edge(main, node, EdgeKind::kTree, calls, 0, builder.site(module, site));
  };
  add(100, 3, 30);
  add(200, 1, 5);
  return builder.build();
}

std::vector<CallSiteRow> rows_of(const Profile& profile) {
  std::vector<CallSiteRow> rows = call_site_table({profile, *profile.find_metric("cpu")});
  std::erase_if(rows, [](const CallSiteRow& row) { return !row.site; });
  return rows;
}

Profile merged_apart(const Profile& profile) {
  return transform::merge(transform::with_sites_apart(profile));
}

TEST(CallSites, EachPlaceHasItsCallsAndCost) {
  const auto rows = rows_of(merged_apart(recorded(true)));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].calls, 3u);
  EXPECT_EQ(rows[0].cost, 30u);
  EXPECT_EQ(rows[1].calls, 1u);
  EXPECT_EQ(rows[1].cost, 5u);
  EXPECT_EQ(rows[0].callee, rows[1].callee);
  EXPECT_FALSE(rows[0].is_first_only);
}

TEST(CallSites, WithoutCallSitesMergingKeepsTheFirst) {
  const auto rows = rows_of(transform::merge(recorded(false)));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].calls, 4u);
  EXPECT_EQ(rows[0].cost, 35u);
  EXPECT_TRUE(rows[0].is_first_only);
}

TEST(CallSites, CallSitesAreKeptByFilters) {
  const Profile merged = merged_apart(recorded(true));
  transform::Filter filter;
  filter.select = {"work"};
  const auto filtered = transform::filter(merged, filter);
  ASSERT_TRUE(filtered.ok());
  EXPECT_EQ(rows_of(filtered->profile).size(), 2u);
}

TEST(CallSites, TotalsEqualThoseOfTheMergedTree) {
  const Profile merged = merged_apart(recorded(true));
  std::uint64_t calls = 0;
  for (const CallSiteRow& row : call_site_table({merged, *merged.find_metric("cpu")})) {
    calls += row.calls;
  }
  EXPECT_EQ(calls, 4u);
}

}  // namespace
}  // namespace fbleprof::analysis
