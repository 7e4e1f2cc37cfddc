#include "signal_safe/allocations.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "signal_safe/live_blocks.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/pages.h"
#include "signal_safe/poisson.h"
#include "signal_safe/sampled_blocks.h"
#include "signal_safe/snapshot.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof::signal_safe {
namespace {

const void* at(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

TEST(Poisson, DistancesHaveTheMeanAndTheSpreadOfAnExponential) {
  std::uint64_t random = 12345;
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto d = static_cast<double>(draw_distance(&random, 1 << 20)) / (1 << 20);
    sum += d;
    squares += d * d;
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.01);
  EXPECT_NEAR(squares / kDraws, 2, 0.05);
}

TEST(Poisson, WeightsAreTheInverseOfTheChance) {
  std::uint64_t random = 1;
  for (const std::uint64_t period : {64ull << 10, 512ull << 10, 8ull << 30}) {
    for (const double share : {1e-4, 0.01, 0.3, 0.99, 1.0, 1.5, 5.0, 20.0, 39.0, 1000.0}) {
      const auto bytes = static_cast<std::uint64_t>(share * static_cast<double>(period));
      const double x = static_cast<double>(bytes) / static_cast<double>(period);
      const Weight weight = weight_of(bytes, period, &random);
      const double expected = 1 / -std::expm1(-x);
      EXPECT_NEAR(static_cast<double>(weight.bytes) / static_cast<double>(bytes), expected,
                  expected * 1e-4)
          << bytes << " of " << period;
      EXPECT_NEAR(static_cast<double>(weight.count), expected, 1 + expected * 1e-4);
    }
  }
}

TEST(Poisson, CountsAreRoundedByLot) {
  std::uint64_t random = 1;
  constexpr int kDraws = 100000;
  std::uint64_t sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += weight_of(1000, 1000, &random).count;
  EXPECT_NEAR(static_cast<double>(sum) / kDraws, 1.582, 0.01);
}

TEST(LiveBlocks, ABlockIsTakenOnce) {
  Pages pages;
  LiveBlocks blocks;
  ASSERT_TRUE(blocks.start(&pages, 32));
  EXPECT_TRUE(blocks.add(at(0x500010), {1234, 40, 7, 99}));
  EXPECT_TRUE(blocks.add(at(0x500030), {1236, (1ull << 33) - 1, 62, LiveBlocks::kBirthMask}));
  const LiveBlock first = blocks.take(at(0x500010));
  EXPECT_EQ(first.node, 1234u);
  EXPECT_EQ(first.bytes, 40u);
  EXPECT_EQ(first.owner, 7u);
  EXPECT_EQ(first.birth, 99u);
  EXPECT_EQ(blocks.take(at(0x500010)).node, 0u);
  const LiveBlock second = blocks.take(at(0x500030));
  EXPECT_EQ(second.bytes, (1ull << 33) - 1) << "the largest that is told exactly";
  EXPECT_EQ(second.birth, LiveBlocks::kBirthMask);
  EXPECT_EQ(blocks.take(at(~0ull)).node, 0u) << "no address of the program";
}

TEST(LiveBlocks, TheSizeThatIsKeptIsTheOneThatIsTold) {
  Pages pages;
  LiveBlocks blocks;
  ASSERT_TRUE(blocks.start(&pages, 32));
  const struct {
    std::uint64_t bytes, kept;
  } cases[] = {
      {0, 0},
      {(1ull << 33) - 1, (1ull << 33) - 1},
      {1ull << 33, 1ull << 33},
      {(40ull << 30) + 4095, 40ull << 30},
      {1ull << 45, (1ull << 45) - 4096},
      {~0ull, (1ull << 45) - 4096},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(LiveBlocks::kept(one.bytes), one.kept);
    ASSERT_TRUE(blocks.add(at(0x500010), {1236, one.bytes, 62, 3}));
    const LiveBlock block = blocks.take(at(0x500010));
    EXPECT_EQ(block.bytes, one.kept);
    EXPECT_EQ(block.node, 1236u);
    EXPECT_EQ(block.owner, 62u);
  }
}

TEST(LiveBlocks, MappingsAreFoundFromBothSides) {
  Pages pages;
  LiveBlocks blocks;
  ASSERT_TRUE(blocks.start(&pages, 32));
  constexpr std::uint64_t kFirst = 0x7f00'0000'0000, kLeaf = 64 << 20;
  constexpr std::uint64_t kMappings[] = {kFirst, kFirst + 63 * 4096, kFirst + 64 * 4096,
                                         kFirst + kLeaf - 4096, kFirst + 1000 * kLeaf};
  blocks.note_mapping(kFirst, true);  // where no block is, none is noted
  std::uint64_t found = 0;
  EXPECT_FALSE(blocks.first_mapping(0, ~0ull, &found));
  for (const std::uint64_t begin : kMappings) {
    blocks.add(at(begin), {2, 4096, 1, 1});
    blocks.note_mapping(begin, true);
  }
  blocks.add(at(kFirst + 4096), {2, 4096, 1, 1});  // no mapping
  std::vector<std::uint64_t> forward, backward;
  for (std::uint64_t from = 0; blocks.first_mapping(from, ~0ull, &found); from = found + 4096) {
    forward.push_back(found);
  }
  for (std::uint64_t to = kFirst + 2000 * kLeaf; blocks.last_mapping(to, &found); to = found) {
    backward.insert(backward.begin(), found);
  }
  EXPECT_EQ(forward, std::vector<std::uint64_t>(std::begin(kMappings), std::end(kMappings)));
  EXPECT_EQ(backward, forward);
  EXPECT_FALSE(blocks.first_mapping(kFirst + 4096, kFirst + 63 * 4096, &found));
  EXPECT_TRUE(blocks.first_mapping(kFirst, kFirst + 1, &found));
  EXPECT_FALSE(blocks.last_mapping(kFirst + 5000 * kLeaf + (1ull << 40), &found)) << "too far away";
  EXPECT_FALSE(blocks.last_mapping(~0ull, &found)) << "no address of the program";
  blocks.note_mapping(kFirst, false);
  EXPECT_TRUE(blocks.first_mapping(kFirst, ~0ull, &found));
  EXPECT_EQ(found, kMappings[1]);
}

TEST(LiveBlocks, ASearchMarksTheBlockThatHoldsAnAddressOnce) {
  Pages pages;
  LiveBlocks blocks;
  ASSERT_TRUE(blocks.start(&pages, 32));
  blocks.add(at(0x700000), {2, 100, 1, 1});
  std::uint64_t begin = 0;
  EXPECT_EQ(blocks.mark(0x6ffff8, &begin).node, 0u);
  EXPECT_EQ(blocks.mark(0x700200, &begin).node, 0u);
  EXPECT_EQ(blocks.mark(0x700058, &begin).node, 2u);
  EXPECT_EQ(begin, 0x700000u);
  EXPECT_EQ(blocks.mark(0x700000, &begin).node, 0u) << "found before";
  int marked = 0;
  blocks.for_each([&](std::uint64_t, const LiveBlock& block) { marked += block.is_marked(); });
  EXPECT_EQ(marked, 1);
}

// Reads the kernel's table of pages.
bool is_touched(const void* address) {
  static const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::uint64_t page = 0;
  const auto offset = static_cast<off_t>(reinterpret_cast<std::uint64_t>(address) / 4096 * 8);
  if (pread(fd, &page, sizeof page, offset) != sizeof page) return true;
  return page >> 62 != 0;
}

TEST(LiveBlocks, WhatIsOnTouchedPagesIsEverything) {
  Pages pages;
  LiveBlocks blocks;
  ASSERT_TRUE(blocks.start(&pages, 32));
  std::vector<std::uint64_t> added, found;
  // Each distance from the begin of a page of 12-byte items, and far away.
  for (std::uint64_t i = 0; i < 3000; ++i) added.push_back(0x7000000 + i * 32 * (1 + i % 13));
  for (std::uint64_t i = 0; i < 20; ++i) added.push_back((0x7f0000 + i * 7) << 24);
  std::sort(added.begin(), added.end());
  added.erase(std::unique(added.begin(), added.end()), added.end());
  for (const std::uint64_t each : added) blocks.add(at(each), {2, 8, 1, 1});
  std::uint64_t asked = 0, touched = 0;
  const auto count = [&](const void* address) {
    const bool is = is_touched(address);
    ++asked, touched += is;
    return is;
  };
  blocks.for_each([&](std::uint64_t begin, const LiveBlock&) { found.push_back(begin); }, count);
  EXPECT_EQ(found, added);
  EXPECT_LT(touched, asked / 10) << "where the kernel tells, few pages are read";
}

TEST(SampledBlocks, EveryBlockIsFoundAgainHoweverManyCameAndWent) {
  Pages pages;
  SampledBlocks blocks;
  ASSERT_TRUE(blocks.start(&pages));
  for (std::uint64_t round = 0; round < 20; ++round) {
    for (std::uint64_t i = 1; i <= 20000; ++i) {
      ASSERT_TRUE(blocks.add(at((round * 20000 + i) * 48), {2, 0, 0, i, i * 3}));
    }
    for (std::uint64_t i = 1; i <= 20000; ++i) {
      const void* block = at((round * 20000 + i) * 48);
      ASSERT_TRUE(blocks.may_hold(block));
      ASSERT_EQ(blocks.take(block).count, i);
      ASSERT_EQ(blocks.take(block).node, 0u);
    }
  }
}

TEST(Sizes, ClassesGoByFours) {
  EXPECT_EQ(size_class(0), 0u);
  EXPECT_EQ(size_class(16), 0u);
  EXPECT_EQ(size_class(17), 1u);
  EXPECT_EQ(size_class(64), 1u);
  EXPECT_EQ(size_class(65), 2u);
  EXPECT_EQ(size_class(4 << 20), 9u);
  EXPECT_EQ(size_class((4 << 20) + 1), 10u);
  EXPECT_EQ(size_class(~0ull), 10u);
}

TEST(Snapshot, ThatCannotGrowKeepsTheOlderOne) {
  test::Recording recording({}, 1 << 20);
  Arena& arena = recording.session.arena;
  const auto call = [&](format::Ref from, std::uint32_t function) {
    const Step step =
        recording.tree().enter(recording.guard, from, recording.function(function), 0, 0);
    *step.calls += 1;
    return step.to;
  };
  const auto newest_items = [&](format::Kind kind) {
    format::Ref found = 0;
    arena.for_each(kind, [&](format::Ref ref) { return found = ref, true; });
    return found;
  };
  SnapshotArea area;
  area.spare_percent = 0;
  const format::Ref first = call(recording.tree().root(), 1);
  ASSERT_TRUE(take_snapshot(arena, area, format::SnapshotReason::kAsked, 1));
  const format::Ref nodes = newest_items(format::Kind::kSnapshotNodes),
                    edges = newest_items(format::Kind::kSnapshotEdges);
  // Back edges, and nodes with them.
  for (std::uint32_t function = 2; function < 40; ++function) {
    const format::Ref node = call(call(first, function), 1);
    call(node, function);
  }
  // Then there is room for the items of nodes, but not of edges.
  const std::uint64_t node_bytes = 84 * (sizeof(format::SnapshotItem) + arena.header()->row_bytes);
  const std::uint64_t free = arena.cap_bytes() - arena.cap_bytes() / 4 - arena.used_bytes();
  ASSERT_NE(arena.allocate(free - node_bytes), 0u);
  const std::uint64_t used = arena.used_bytes();
  EXPECT_FALSE(take_snapshot(arena, area, format::SnapshotReason::kAsked, 2));
  EXPECT_EQ(arena.used_bytes(), used);
  const auto* snapshot = arena.at<format::Snapshot>(area.snapshot);
  EXPECT_EQ(snapshot->is_complete, 1);
  EXPECT_EQ(snapshot->time_ns, 1u);
  for (const format::Ref items : {nodes, edges}) {
    EXPECT_EQ(arena.at<format::SnapshotItems>(items)->snapshot, area.snapshot);
  }
}

TEST(Snapshot, ALaterOneTakesTheSpaceOfTheOneBeforeTheLast) {
  test::Recording recording;
  Arena& arena = recording.session.arena;
  SnapshotArea areas[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(take_snapshot(arena, areas[i], format::SnapshotReason::kPeak, 1));
    withdraw_snapshot(arena, areas[1 - i]);
  }
  const std::uint64_t used = arena.used_bytes();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(take_snapshot(arena, areas[i % 2], format::SnapshotReason::kPeak, 2));
    withdraw_snapshot(arena, areas[1 - i % 2]);
  }
  EXPECT_EQ(arena.used_bytes(), used);
  int complete = 0;
  arena.for_each(format::Kind::kSnapshot, [&](format::Ref ref) {
    complete += arena.at<format::Snapshot>(ref)->is_complete;
    return true;
  });
  EXPECT_EQ(complete, 1);
}

}  // namespace
}  // namespace fbleprof::signal_safe
