#include "profile/builder.h"

#include <gtest/gtest.h>

namespace fbleprof::profile {
namespace {

TEST(ProfileBuilder, NodesAreInPreorderWhateverTheOrderOfAdding) {
  ProfileBuilder builder;
  const auto cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId a = builder.child(root, builder.named_function("a"));
  const NodeId b = builder.child(root, builder.named_function("b"));
  const NodeId ac = builder.child(a, builder.named_function("c"));
  builder.charge(b, cpu, 2);
  builder.charge(ac, cpu, 3);
  const Profile profile = builder.build();

  const Nodes& nodes = profile.nodes();
  ASSERT_EQ(nodes.count(), 4u);
  std::string order;
  for (const FunctionId f : nodes.function) order += display_name(profile, f) + " ";
  EXPECT_EQ(order, "[root] a c b ");
  EXPECT_EQ(nodes.depth, (std::vector<std::uint32_t>{0, 1, 2, 1}));
  EXPECT_EQ(nodes.subtree_end, (std::vector<std::uint32_t>{4, 3, 3, 4}));
  EXPECT_EQ(profile.metrics()[0].values->wide(), (std::vector<std::uint64_t>{0, 0, 3, 2}));
}

TEST(ProfileBuilder, CallsOfANodeAreTheSumOverItsEdges) {
  ProfileBuilder builder;
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId a = builder.child(root, builder.named_function("a"));
  const NodeId b = builder.child(a, builder.named_function("b"));
  builder.add_edge(root, a, EdgeKind::kTree, 1);
  builder.add_edge(a, b, EdgeKind::kTree, 2);
  builder.add_edge(b, b, EdgeKind::kBack, 5);
  builder.add_edge(b, b, EdgeKind::kBack, 5);
  const Profile profile = builder.build();
  EXPECT_EQ(profile.edges().count(), 3u);
  const Metric* calls = profile.find_metric("calls");
  ASSERT_NE(calls, nullptr);
  EXPECT_EQ(calls->value(NodeId(2)), 12u);
}

TEST(ProfileBuilder, WaysFromDifferentSitesStayApart) {
  ProfileBuilder builder;
  const ModuleId module = builder.add_module({builder.string("a"), {}, 0});
  const SiteId first = builder.site(module, 1), second = builder.site(module, 2);
  const FunctionId f = builder.named_function("f");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId a = builder.child(root, f, first);
  EXPECT_NE(builder.child(root, f, second), a);
  EXPECT_NE(builder.child(root, f), a);
  EXPECT_EQ(builder.child(root, f, first), a);
  builder.add_edge(a, a, EdgeKind::kBack, 1, 0, first);
  builder.add_edge(a, a, EdgeKind::kBack, 2, 0, second);
  builder.add_edge(a, a, EdgeKind::kBack, 4, 0, first);
  const Profile profile = builder.build();
  const Edges& edges = profile.edges();
  ASSERT_EQ(edges.count(), 5u);
  EXPECT_EQ(edges.calls.wide(), (std::vector<std::uint64_t>{0, 0, 0, 5, 2}));
  EXPECT_EQ(edges.site, (std::vector<SiteId>{first, second, SiteId(), first, second}));
}

TEST(ProfileBuilder, BasedOnAProfileItFindsExistingFunctions) {
  ProfileBuilder first;
  first.add_tree(first.named_function("[root]", FunctionKind::kRoot));
  const Profile base = first.build();
  ProfileBuilder second(base);
  second.named_function("[root]", FunctionKind::kRoot);
  second.named_function("new");
  const Profile derived = second.build();
  EXPECT_EQ(derived.functions().count(), 2u);
  EXPECT_EQ(derived.trees().size(), 0u);
}

TEST(ProfileBuilder, MetricsAreAggregatedByTheirOwnRule) {
  ProfileBuilder builder;
  const auto peak = builder.add_metric("peak", "bytes", Aggregation::kMax);
  const auto last = builder.add_metric("live", "bytes", Aggregation::kLast);
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  for (const std::uint64_t value : {5, 9, 4}) {
    builder.charge(root, peak, value);
    builder.charge(root, last, value);
  }
  const Profile profile = builder.build();
  EXPECT_EQ(profile.find_metric("peak")->value(NodeId(0)), 9u);
  EXPECT_EQ(profile.find_metric("live")->value(NodeId(0)), 4u);
}

TEST(Strings, SameTextHasOneId) {
  StringInterner strings;
  const StringId a = strings.intern("alpha"), b = strings.intern("beta");
  EXPECT_EQ(strings.intern("alpha"), a);
  EXPECT_NE(a, b);
  EXPECT_EQ(strings.intern("").index(), 0u);
  EXPECT_EQ(strings.get(StringId()), "");
  StringInterner more(strings.take());
  EXPECT_EQ(more.intern("beta"), b);
  EXPECT_EQ(more.get(a), "alpha");
}

}  // namespace
}  // namespace fbleprof::profile
