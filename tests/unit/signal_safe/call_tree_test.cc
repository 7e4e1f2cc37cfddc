#include "signal_safe/call_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using format::Compaction;
using format::Ref;
using signal_safe::Options;
using signal_safe::Step;
using test::Recording;

// The rules of the notes in their plain form: a path is a list of functions.
using Path = std::vector<std::uint32_t>;

bool ends_with_repetition(const Path& path, std::size_t k) {
  return path.size() >= 2 * k && std::equal(path.end() - static_cast<std::ptrdiff_t>(k), path.end(),
                                            path.end() - static_cast<std::ptrdiff_t>(2 * k));
}

// The path after `callee` is entered at `path`.
Path fold(Path path, std::uint32_t callee, Compaction rule) {
  const std::uint32_t caller = path.back();
  path.push_back(callee);
  if (rule == Compaction::kPair) {
    for (std::size_t i = path.size() - 2; i >= 1; --i) {
      if (path[i - 1] == caller && path[i] == callee) return path.resize(i + 1), path;
    }
  } else if (rule == Compaction::kSuffix) {
    for (std::size_t k = 1; 2 * k <= path.size(); ++k) {
      if (ends_with_repetition(path, k)) return path.resize(path.size() - k), path;
    }
  }
  return path;
}

std::string text_of(const Path& path) {
  std::string text;
  for (const std::uint32_t function : path) text += "/" + std::to_string(function);
  return text;
}

constexpr std::uint32_t kRoot = Recording::kSpecial + 2;
constexpr std::uint32_t kOverflow = Recording::kSpecial + 3;
constexpr std::uint32_t kDeeper = Recording::kSpecial + 10;

// A random walk up and down a call stack, through the recorder and through the reference.
struct Walk {
  Recording& recording;
  std::mt19937 random;
  std::vector<Ref> nodes{};
  std::vector<Path> paths{};
  std::map<std::string, std::uint64_t> ways{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> pairs{};

  void run(std::uint32_t functions, int steps, std::size_t deepest, bool with_paths = true) {
    const Compaction rule = recording.session.options.compaction;
    nodes.assign(1, recording.tree().root());
    paths.assign(1, Path{kRoot});
    std::vector<std::uint32_t> stack{kRoot};
    for (int i = 0; i < steps; ++i) {
      if (nodes.size() > 1 && (nodes.size() >= deepest || random() % 2 == 0)) {
        nodes.pop_back(), stack.pop_back();
        if (with_paths) paths.pop_back();
        continue;
      }
      const std::uint32_t callee = random() % functions;
      const Step step =
          recording.tree().enter(recording.guard, nodes.back(), recording.function(callee), 0, 0);
      *step.calls += 1;
      nodes.push_back(step.to);
      ++pairs[{stack.back(), callee}];
      stack.push_back(callee);
      if (!with_paths) continue;
      const Path to = fold(paths.back(), callee, rule);
      ++ways[text_of(paths.back()) + " > " + text_of(to)];
      paths.push_back(to);
    }
  }
};

class CallTreeRules : public testing::TestWithParam<Compaction> {};

TEST_P(CallTreeRules, RandomCallsAreCountedAsTheNotesSay) {
  for (const std::uint32_t functions : {2u, 3u, 5u, 9u}) {
    Recording recording({.compaction = GetParam()});
    Walk walk{recording, std::mt19937(functions)};
    walk.run(functions, GetParam() == Compaction::kNone ? 20'000 : 300'000, 40);
    EXPECT_EQ(recording.ways(), walk.ways);
    EXPECT_TRUE(GetParam() != Compaction::kPair || recording.pairs() == walk.pairs);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, CallTreeRules,
                         testing::Values(Compaction::kPair, Compaction::kSuffix, Compaction::kNone),
                         [](const auto& rule) -> std::string {
                           return rule.param == Compaction::kPair     ? "Pair"
                                  : rule.param == Compaction::kSuffix ? "Suffix"
                                                                      : "None";
                         });

TEST(CallTree, MillionsOfCallsOfManyFunctionsKeepPairsExact) {
  Recording recording({}, 512 << 20);
  Walk walk{recording, std::mt19937(1)};
  walk.run(60, 3'000'000, 12, false);
  EXPECT_EQ(recording.pairs(), walk.pairs);
}

TEST(CallTree, NoPairStandsTwiceOnAPath) {
  Recording recording;
  Walk walk{recording, std::mt19937(7)};
  walk.run(6, 200'000, 60);
  std::map<Ref, Path> paths{{0, {}}};
  for (const auto& node : recording.nodes()) {
    Path path = paths.at(node.parent);
    path.push_back(node.function);
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> seen;
    for (std::size_t i = 1; i < path.size(); ++i)
      EXPECT_EQ(++seen[std::pair(path[i - 1], path[i])], 1);
    paths.emplace(node.ref, std::move(path));
  }
}

TEST(CallTree, MemoryLimitKeepsPairsExact) {
  Recording recording({}, 2 << 20);
  Walk walk{recording, std::mt19937(2)};
  walk.run(40, 1'000'000, 30, false);
  EXPECT_GT(recording.session.arena.header()->overflow_contexts, 0u);
  auto pairs = recording.pairs();
  // Contexts below [overflow] have no known caller there.
  for (std::uint32_t f = 0; f < 40; ++f) EXPECT_FALSE((pairs.contains({kOverflow, f})));
  EXPECT_EQ(pairs, walk.pairs);
}

TEST(CallTree, MemoryLimitRefusesDeepContextsFirst) {
  Recording recording({}, 1 << 20);
  // A long path first, until it is refused; then there is still room for a wide one.
  Ref deep = recording.tree().root();
  std::uint32_t depth = 0;
  while (recording.session.arena.header()->overflow_contexts == 0) {
    deep =
        recording.tree().enter(recording.guard, deep, recording.function(depth++ % 4000), 0, 0).to;
    if (depth > 100) {
      for (std::uint32_t f = 0; f < 20; ++f)
        recording.tree().enter(recording.guard, deep, recording.function(f), 0, 0);
    }
  }
  const Step wide = recording.tree().enter(recording.guard, recording.tree().root(),
                                           recording.function(4001), 0, 0);
  EXPECT_EQ(recording.tree().node_at(wide.to)->parent, recording.tree().root());
}

TEST(CallTree, HasRoomForCallsAfterTheEndOfTheFileIsSettled) {
  Recording recording;
  const auto call = [&](std::uint32_t function) {
    recording.tree().enter(recording.guard, recording.tree().root(), recording.function(function),
                           0, 0);
  };
  for (std::uint32_t function = 0; function < 74; ++function) call(function);
  recording.session.arena.freeze_short();
  for (std::uint32_t function = 74; function < 114; ++function) call(function);
  EXPECT_EQ(recording.session.arena.header()->overflow_contexts, 0u);
}

TEST(CallTree, WithoutAnyMemoryCallsAreStillCounted) {
  Recording recording({}, 1 << 20);
  const Ref root = recording.tree().root();
  Ref at = root;
  std::uint64_t calls = 0;
  std::mt19937 random(3);
  for (int i = 0; i < 300'000; ++i) {
    const Step step =
        recording.tree().enter(recording.guard, at, recording.function(random() % 4096), 0, 0);
    *step.calls += 1, ++calls;
    at = i % 30 == 0 ? root : step.to;
  }
  std::uint64_t counted = 0;
  for (const auto& [pair, count] : recording.pairs()) counted += count;
  EXPECT_EQ(counted, calls);
}

TEST(CallTree, DepthLimitFoldsIntoTheAncestorThere) {
  Recording recording({.depth_limit = 5});
  Walk walk{recording, std::mt19937(4)};
  walk.run(12, 200'000, 40, false);
  EXPECT_EQ(recording.pairs(), walk.pairs);
  std::map<Ref, std::pair<int, bool>> below;  // depth, whether [deeper] is above
  below[0] = {-1, false};
  for (const auto& node : recording.nodes()) {
    const auto [depth, is_folded] = below.at(node.parent);
    below[node.ref] = {depth + 1, is_folded || node.function == kDeeper};
    EXPECT_LE(depth + 1, below[node.ref].second ? 5 + 3 : 5);
  }
}

// The node [deeper] takes the last link of a node's own line, so the way that leads below it needs
// one in the table, where no other node has asked for room. Without room, lookups do not end.
TEST(CallTree, DepthLimitMakesRoomForTheWayBelowIt) {
  Recording recording({.depth_limit = 12});
  auto& tree = recording.tree();
  const auto enter = [&](Ref from, std::uint32_t function) {
    const Step step = tree.enter(recording.guard, from, recording.function(function), 0, 0);
    *step.calls += 1;
    return step.to;
  };
  constexpr std::uint32_t kCaller = 100, kBehind = 101, kNew = 110, kBranches = 4;
  std::uint32_t deepest = 0;
  // 4 * 4 * 4 paths, none of whose nodes needs the table.
  for (std::uint32_t path = 0; path < kBranches * kBranches * kBranches; ++path) {
    Ref node = tree.root();
    for (const std::uint32_t branch :
         {path % kBranches, 10 + path / kBranches % kBranches, 20 + path / kBranches / kBranches}) {
      node = enter(node, branch);
    }
    node = enter(node, kCaller);
    for (std::uint32_t i = 0; i < 4; ++i) node = enter(enter(node, kBehind + i), kCaller);
    ASSERT_EQ(tree.node_at(node)->depth, 12u);
    for (std::uint32_t i = 0; i < 4; ++i) enter(node, kBehind + i);
    enter(node, kNew);
    enter(node, kNew);
    ++deepest;
  }
  EXPECT_EQ((recording.pairs()[{kCaller, kNew}]), 2 * deepest);
}

TEST(CallTree, CallSitesAreContextsOfTheirOwn) {
  // So many that tags, which are hints, agree by chance.
  constexpr std::uint64_t kSites = 100'000;
  for (const std::uint32_t depth_limit : {0u, 1u}) {  // also below a limit
    Recording recording({.call_sites = true, .depth_limit = depth_limit});
    const Ref f = recording.function(1);
    const Ref caller =
        recording.tree()
            .enter(recording.guard, recording.tree().root(), recording.function(2), 0, 0)
            .to;
    for (std::uint64_t site = 1; site <= kSites; ++site) {
      for (std::uint64_t n = 0; n < site % 5; ++n)
        *recording.tree().enter(recording.guard, caller, f, site, 0).calls += 1;
    }
    std::map<std::uint64_t, std::uint64_t> counts;
    for (const auto& node : recording.nodes()) {
      if (node.function != 1) continue;
      const auto* record = recording.tree().node_at(node.ref);
      EXPECT_EQ(counts.count(record->site), 0u);
      counts[record->site] = node.calls;
    }
    for (std::uint64_t site = 1; site <= kSites; ++site) {
      EXPECT_TRUE(site % 5 == 0 || counts[site] == site % 5);
    }
  }
}

TEST(CallTree, ATailCallIsNotACall) {
  Recording recording;
  auto& tree = recording.tree();
  const Ref root = tree.root(), f = recording.function(1), g = recording.function(2);
  const Ref caller = tree.enter(recording.guard, root, f, 0, 0).to;
  const Step tail = tree.replace(recording.guard, root, caller, g);
  const Step call = tree.enter(recording.guard, caller, g, 0, 0);
  EXPECT_NE(tail.calls, call.calls);
  EXPECT_EQ(tree.node_at(tail.to)->parent, root);
  EXPECT_EQ(tree.node_at(call.to)->parent, caller);
  EXPECT_EQ(tree.replace(recording.guard, root, caller, g).calls, tail.calls);
  EXPECT_EQ(tree.enter(recording.guard, caller, g, 0, 0).calls, call.calls);
}

// A node's own links have tags of 16 bits, of a function for a call, of a node for a tail call.
TEST(CallTree, ATailCallIsNotACallWithTheSameTag) {
  Recording recording;
  auto& tree = recording.tree();
  const auto tag = [](Ref ref) { return static_cast<std::uint16_t>(ref ^ ref >> 16); };
  const Ref root = tree.root();
  const Ref replaced = tree.enter(recording.guard, root, recording.function(1), 0, 0).to;
  Ref caller = 0, function = 0;
  for (std::uint32_t i = 2; i < 1000 && function == 0; ++i) {
    caller = tree.enter(recording.guard, root, recording.function(i), 0, 0).to;
    for (std::uint32_t j = 1; j <= 1000 && function == 0; ++j) {
      const Ref callee = recording.function(1000 + j);
      if (tag(tree.enter(recording.guard, caller, callee, 0, 0).to) == tag(callee)) {
        function = callee;
      }
    }
  }
  ASSERT_NE(function, 0u);
  const Step tail = tree.replace(recording.guard, caller, replaced, function);
  const Step call = tree.enter(recording.guard, replaced, function, 0, 0);
  EXPECT_NE(tail.calls, call.calls);
  EXPECT_EQ(tree.node_at(call.to)->parent, replaced);
}

TEST(CallTree, FunctionsWithTheSameTagAreDifferentWays) {
  Recording recording;
  auto& tree = recording.tree();
  const auto tag = [](Ref ref) { return static_cast<std::uint16_t>(ref ^ ref >> 16); };
  const Ref root = tree.root();
  const Ref first = recording.function(1);
  recording.function(2);  // its module has a record, too
  // The next function begins where the tag is that of the first.
  auto& arena = recording.session.arena;
  const auto used = static_cast<Ref>(arena.used_bytes() / format::kUnitBytes);
  const Ref wanted = Ref{2} << 16 | (first ^ 2);
  ASSERT_NE(arena.allocate(std::uint64_t{wanted - used} * format::kUnitBytes), 0u);
  const Ref same = recording.function(3);
  ASSERT_EQ(tag(same), tag(first));
  const Step step = tree.enter(recording.guard, root, first, 0, 0);
  EXPECT_EQ(tree.find_child(root, first).node, step.to);
  const auto other = tree.find_child(root, same);
  EXPECT_EQ(other.node, 0u);
  EXPECT_FALSE(other.is_new) << "the tag does not tell";
  EXPECT_NE(tree.enter(recording.guard, root, same, 0, 0).to, step.to);
}

TEST(CallTree, TailCallsHangBelowTheCaller) {
  Recording recording;
  const Ref root = recording.tree().root();
  const Ref a = recording.tree().enter(recording.guard, root, recording.function(1), 0, 0).to;
  for (int i = 0; i < 3; ++i)
    *recording.tree().replace(recording.guard, root, a, recording.function(2)).calls += 1;
  for (std::uint32_t f = 3; f < 40; ++f)
    *recording.tree().replace(recording.guard, root, a, recording.function(f)).calls += 1;
  const auto edges = recording.edges();
  ASSERT_EQ(edges.size(), 38u);
  EXPECT_EQ(edges[0].calls, 3u);
  EXPECT_EQ(edges[0].kind, format::EdgeKind::kTail);
  EXPECT_EQ(recording.tree().node_at(edges[0].to)->parent, root);
}

TEST(CallTree, FileIsWholeAfterEveryCall) {
  Recording recording;
  std::mt19937 random(5);
  std::vector<Ref> stack{recording.tree().root()};
  for (int i = 0; i < 2000; ++i) {
    if (stack.size() > 1 && random() % 3 == 0) {
      stack.pop_back();
      continue;
    }
    const Step step = recording.tree().enter(recording.guard, stack.back(),
                                             recording.function(random() % 30), 0, 0);
    *step.calls += 1;
    stack.push_back(step.to);
    std::map<Ref, int> known;
    for (const auto& node : recording.nodes()) known[node.ref] = 1;  // parents first, or it fails
    for (const auto& edge : recording.edges()) {
      ASSERT_TRUE(known.contains(edge.from) && known.contains(edge.to));
    }
    ASSERT_TRUE(known.contains(step.to));
  }
}

TEST(CallTree, ChargesWithoutMemoryGoToTheRoot) {
  Recording recording({}, 1 << 20);
  Ref at = recording.tree().root();
  std::uint64_t charged = 0;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    at = recording.tree()
             .enter(recording.guard, i % 50 == 0 ? recording.tree().root() : at,
                    recording.function(i % 3000), 0, 0)
             .to;
    recording.tree().values(recording.guard, at)[signal_safe::kCpuNs] += 3, charged += 3;
  }
  std::uint64_t sum = 0;
  for (const auto& node : recording.nodes()) {
    const Ref block = recording.tree().node_at(node.ref)->values;
    if (block != 0) sum += recording.session.arena.at<std::uint64_t>(block)[signal_safe::kCpuNs];
  }
  EXPECT_EQ(sum, charged);
}

TEST(CallTree, ARecursiveTailCallLeadsBackToItsCaller) {
  Recording recording;
  auto& tree = recording.tree();
  const auto enter = [&](Ref from, std::uint32_t function) {
    const Step step = tree.enter(recording.guard, from, recording.function(function), 0, 0);
    *step.calls += 1;
    return step.to;
  };
  const Ref outer = enter(tree.root(), 1);
  const Ref inner = enter(outer, 1);
  EXPECT_EQ(enter(inner, 1), inner) << "recursion is folded";
  const Ref replaced = enter(inner, 2);
  const Step step = tree.replace(recording.guard, inner, replaced, recording.function(1));
  *step.calls += 1;
  EXPECT_EQ(step.to, inner);
  std::uint64_t tails = 0;
  for (const auto& edge : recording.edges()) {
    tails += edge.kind == format::EdgeKind::kTail && edge.from == replaced ? edge.calls : 0;
  }
  EXPECT_EQ(tails, 1u);
}

}  // namespace
}  // namespace fbleprof
