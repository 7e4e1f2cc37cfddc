#include "analysis/pair_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "profile/builder.h"
#include "tests/support/profile_builder.h"
#include "transform/merge.h"

namespace fbleprof::analysis {
namespace {

using test::profile_of;

std::string pairs(const profile::Profile& profile) {
  std::vector<std::string> lines;
  for (const PairRow& row : pair_table({profile, *profile.find_metric("cpu")})) {
    lines.push_back(display_name(profile, row.caller) + (row.is_tail ? "=>" : "->") +
                    display_name(profile, row.callee) + " calls=" + std::to_string(row.calls) +
                    " cost=" + (row.cost_is_bound ? ">=" : "") + std::to_string(row.cost) + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

TEST(PairTable, FoldsRepeatedCallsIntoOnePair) {
  EXPECT_EQ(pairs(profile_of("a -> 1\na b -> 1\na b b -> 1\na b b ~> a b b : 1\na b b c -> 1\n"
                             "a b b c = 7\n")),
            "[root]->a calls=1 cost=7\n"
            "a->b calls=1 cost=7\n"
            "b->b calls=2 cost=7\n"
            "b->c calls=1 cost=7\n");
}

TEST(PairTable, SameCalleeOfTwoCallersIsTwoPairs) {
  EXPECT_EQ(pairs(profile_of("a c = 1\na c -> 2\nb c = 4\nb c -> 3\n")),
            "[root]->a calls=0 cost=1\n"
            "[root]->b calls=0 cost=4\n"
            "a->c calls=2 cost=1\n"
            "b->c calls=3 cost=4\n");
}

TEST(PairTable, TailCallsHaveSeparateRowsWithoutCost) {
  EXPECT_EQ(pairs(profile_of("1 2 = 1\n1 3 = 5\n1 2 => 1 3 : 4\n")),
            "1->2 calls=0 cost=1\n"
            "1->3 calls=0 cost=5\n"
            "2=>3 calls=4 cost=0\n"
            "[root]->1 calls=0 cost=6\n");
}

TEST(PairTable, CostBehindABackEdgeIsALowerBound) {
  // a b a b ...: the pair b->a leads back to where a->b stands already.
  EXPECT_EQ(pairs(profile_of("a b = 1\na b a = 2\na b a ~> a b : 3\na b -> 1\na b a -> 4\n")),
            "[root]->a calls=0 cost=3\n"
            "a->b calls=4 cost=3\n"
            "b->a calls=4 cost=>=2\n");
}

// Runs random programs through the pair rule and compares with counts taken directly.
TEST(PairTable, CountsOfRandomProgramsAreExact) {
  std::mt19937 random(7);
  for (int program = 0; program < 50; ++program) {
    profile::ProfileBuilder builder;
    builder.add_metric("cpu", "ns");
    std::vector<profile::FunctionId> functions;
    for (int f = 0; f < 6; ++f) {
      functions.push_back(builder.named_function(std::string(1, static_cast<char>('a' + f))));
    }
    struct Made {
      profile::NodeId parent, self;
      std::size_t key;
    };
    const profile::NodeId root =
        builder.add_tree(builder.named_function("[root]", profile::FunctionKind::kRoot));
    constexpr std::size_t kRootKey = 99;
    std::vector<Made> made{{profile::NodeId(), root, kRootKey}};
    const auto find = [&](profile::NodeId id) { return made[id.index()]; };
    std::vector<profile::NodeId> stack{root};
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> expected;
    std::map<std::pair<std::uint32_t, std::size_t>, profile::NodeId> children;
    for (int step = 0; step < 2000; ++step) {
      if (stack.size() > 1 && random() % 5 < 2) {
        stack.pop_back();
        continue;
      }
      const std::size_t callee = random() % functions.size();
      const Made from = find(stack.back());
      ++expected[{from.key, callee}];
      if (const auto it = children.find({from.self.index(), callee}); it != children.end()) {
        builder.add_edge(from.self, it->second, profile::EdgeKind::kTree, 1);
        stack.push_back(it->second);
        continue;
      }
      profile::NodeId target;
      for (Made n = from; n.parent; n = find(n.parent)) {
        if (n.key == callee && find(n.parent).key == from.key) {
          target = n.self;
          break;
        }
      }
      if (target) {
        builder.add_edge(from.self, target, profile::EdgeKind::kBack, 1);
      } else {
        target = builder.child(from.self, functions[callee]);
        made.push_back({from.self, target, callee});
        children[{from.self.index(), callee}] = target;
        builder.add_edge(from.self, target, profile::EdgeKind::kTree, 1);
      }
      stack.push_back(target);
    }
    const auto profile = transform::merge(builder.build());
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> counted;
    const auto key = [&](profile::FunctionId f) {
      const std::string name = display_name(profile, f);
      return name == "[root]" ? kRootKey : static_cast<std::size_t>(name[0] - 'a');
    };
    for (const PairRow& row : pair_table({profile, *profile.find_metric("cpu")})) {
      counted[{key(row.caller), key(row.callee)}] += row.calls;
    }
    EXPECT_EQ(counted, expected);
  }
}

}  // namespace
}  // namespace fbleprof::analysis
