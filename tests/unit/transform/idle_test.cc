#include "transform/idle.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "transform/filter.h"

namespace fbleprof::transform {
namespace {

using namespace profile;

class Idle : public testing::Test {
 protected:
  Idle() {
    process = builder.add_process({});
    thread = builder.add_thread({.process = process, .tid = 7});
    cpu = builder.add_metric("cpu", "ns", Role::kCpuTime);
    wall = builder.add_metric("wall", "ns", Role::kWallTime);
    wait = builder.add_metric("wait", "ns", Role::kWaitTime);
    longest = builder.add_metric("longest-wait", "ns", Role::kLongestWait, Aggregation::kMax);
    events = builder.add_metric("wait-for-events", "ns", Role::kEventWait);
    peers = builder.add_metric("wait-for-peers", "ns", Role::kPeerWait);
    root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot), process, thread);
    main = builder.child(root, builder.named_function("main"));
  }

  NodeId waiting(const char* name, MetricId kind, std::uint64_t ns) {
    const NodeId node = builder.child(main, builder.named_function(name));
    builder.charge(node, cpu, 3);
    builder.charge(node, wall, ns + 3);
    builder.charge(node, wait, ns);
    builder.charge(node, longest, ns / 2);
    if (kind) builder.charge(node, kind, ns);
    return node;
  }

  // Of the nodes of a function, below a parent of that name.
  static std::uint64_t sum(const Profile& profile, const char* metric, std::string_view parent,
                           std::string_view function) {
    std::uint64_t total = 0;
    const Nodes& nodes = profile.nodes();
    for (std::size_t n = 0; n < nodes.count(); ++n) {
      if (!nodes.parent[n] || display_name(profile, nodes.function[n]) != function) continue;
      if (display_name(profile, nodes.function[nodes.parent[n].index()]) != parent) continue;
      total += profile.find_metric(metric)->value(NodeId(n));
    }
    return total;
  }

  ProfileBuilder builder;
  ProcessId process;
  ThreadId thread;
  MetricId cpu, wall, wait, longest, events, peers;
  NodeId root, main;
};

TEST_F(Idle, WaitsForEventsStandApart) {
  waiting("epoll_wait", events, 100);
  waiting("fsync", {}, 40);
  const Profile profile = with_idle_apart(builder.build());
  EXPECT_EQ(sum(profile, "wait", "epoll_wait", kIdle), 100u);
  EXPECT_EQ(sum(profile, "wall", "epoll_wait", kIdle), 100u);
  EXPECT_EQ(sum(profile, "longest-wait", "epoll_wait", kIdle), 50u);
  EXPECT_EQ(sum(profile, "wait", "main", "epoll_wait"), 0u);
  EXPECT_EQ(sum(profile, "wall", "main", "epoll_wait"), 3u) << "its CPU time stays";
  EXPECT_EQ(sum(profile, "cpu", "main", "epoll_wait"), 3u);
  EXPECT_EQ(sum(profile, "wait", "main", "fsync"), 40u);
}

TEST_F(Idle, WaitsThatDifferentFunctionsEndedCountTogether) {
  const NodeId call = waiting("pthread_cond_wait", peers, 20);
  waiting("write", {}, 60);
  for (const char* name : {"submits", "stops"}) {
    const NodeId waker =
        builder.child(call, builder.add_function({.kind = FunctionKind::kNative,
                                                  .name = builder.string(name),
                                                  .flags = format::kFunctionWaker}));
    for (const MetricId metric : {wall, wait, peers}) builder.charge(waker, metric, 40);
  }
  const Profile profile = with_idle_apart(builder.build());
  EXPECT_EQ(sum(profile, "wait", "pthread_cond_wait", kIdle), 20u);
  EXPECT_EQ(sum(profile, "wait", "submits", kIdle), 40u);
  EXPECT_EQ(sum(profile, "wait", "stops", kIdle), 40u);
}

TEST_F(Idle, AConditionIsIdleIfTheThreadSpentHalfItsTimeThere) {
  waiting("cond_wait", peers, 100);
  waiting("sem_wait", peers, 30);
  const Profile profile = with_idle_apart(builder.build());
  EXPECT_EQ(sum(profile, "wait", "cond_wait", kIdle), 100u);
  EXPECT_EQ(sum(profile, "wait", "sem_wait", kIdle), 0u);
}

TEST_F(Idle, AProfileWithoutSuchWaitsDoesNotChange) {
  waiting("fsync", {}, 400);
  const Profile before = builder.build();
  EXPECT_EQ(with_idle_apart(before).nodes().count(), before.nodes().count());
  EXPECT_FALSE(has_idle(with_idle_apart(before)));
  const auto busy = filter(before, {.exclude = {kIdle}});
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->profile.nodes().count(), before.nodes().count());
}

TEST_F(Idle, TheTotalsOfTheTreeDoNotChange) {
  const NodeId loop = waiting("epoll_wait", events, 100);
  builder.charge(builder.child(loop, builder.named_function("below")), cpu, 5);
  waiting("accept", events, 10);
  const Profile before = builder.build();
  const Profile profile = with_idle_apart(before);
  const Nodes& nodes = profile.nodes();
  ASSERT_EQ(nodes.count(), before.nodes().count() + 2);
  EXPECT_EQ(profile.edges().count(), before.edges().count() + 2);
  EXPECT_EQ(profile.trees()[0].end.index(), nodes.count());
  for (std::size_t n = 1; n < nodes.count(); ++n) {
    const std::size_t parent = nodes.parent[n].index();
    EXPECT_LT(parent, n);
    EXPECT_LE(nodes.subtree_end[n], nodes.subtree_end[parent]);
    EXPECT_EQ(nodes.depth[n], nodes.depth[parent] + 1);
  }
  EXPECT_EQ(sum(profile, "cpu", "epoll_wait", "below"), 5u);
}

}  // namespace
}  // namespace fbleprof::transform
