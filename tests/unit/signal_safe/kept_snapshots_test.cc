#include "signal_safe/kept_snapshots.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "signal_safe/snapshot.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof::signal_safe {
namespace {

using format::SnapshotReason;

// The times of the complete snapshots of a reason, in the order of the file.
std::vector<std::uint64_t> times(const Arena& arena, SnapshotReason reason) {
  std::vector<std::uint64_t> found;
  arena.for_each(format::Kind::kSnapshot, [&](format::Ref ref) {
    const auto* snapshot = arena.at<format::Snapshot>(ref);
    if (snapshot->reason == reason && snapshot->is_complete != 0) {
      found.push_back(snapshot->time_ns);
    }
    return true;
  });
  return found;
}

bool take(Arena& arena, const std::string& name, std::uint64_t time_ns) {
  return take_named_snapshot(arena, name.data(), static_cast<std::uint32_t>(name.size()), time_ns);
}

TEST(KeptSnapshots, ANameHasOne) {
  test::Recording recording;
  Arena& arena = recording.session.arena;
  ASSERT_TRUE(take(arena, "warm", 1));
  ASSERT_TRUE(take(arena, "a long name, longer than a unit of the file", 2));
  const std::uint64_t used = arena.used_bytes();
  ASSERT_TRUE(take(arena, "warm", 3));
  EXPECT_EQ(times(arena, SnapshotReason::kAsked), (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ(arena.used_bytes(), used);
}

TEST(KeptSnapshots, TheNewestPeriodicOnesAreKept) {
  test::Recording recording;
  Arena& arena = recording.session.arena;
  for (std::uint64_t time = 1; time <= 3; ++time)
    ASSERT_TRUE(take_periodic_snapshot(arena, 3, time));
  const std::uint64_t used = arena.used_bytes();
  for (std::uint64_t time = 4; time <= 8; ++time)
    ASSERT_TRUE(take_periodic_snapshot(arena, 3, time));
  EXPECT_EQ(times(arena, SnapshotReason::kPeriod), (std::vector<std::uint64_t>{7, 8, 6}));
  EXPECT_EQ(arena.used_bytes(), used);
}

TEST(KeptSnapshots, ResetsAndNamesDoNotReplaceEachOther) {
  test::Recording recording;
  Arena& arena = recording.session.arena;
  ASSERT_TRUE(take(arena, "", 1));
  for (std::uint64_t time = 2; time <= 9; ++time) ASSERT_TRUE(take_reset_snapshot(arena, time));
  EXPECT_EQ(times(arena, SnapshotReason::kAsked), std::vector<std::uint64_t>{1});
  EXPECT_EQ(times(arena, SnapshotReason::kReset), (std::vector<std::uint64_t>{8, 9}));
}

// What a file that was truncated at this moment looks like.
TEST(KeptSnapshots, RecordsThatBecameZerosHaveNoItems) {
  test::Recording recording;
  Arena& arena = recording.session.arena;
  ASSERT_TRUE(take(arena, "whole", 1));
  for (const format::Kind kind : {format::Kind::kNodes, format::Kind::kSnapshotNodes}) {
    arena.for_each(kind, [&](format::Ref ref) {
      format::Head* head = arena.at<format::Head>(ref);
      std::memset(head + 1, 0, std::size_t{head->units} * format::kUnitBytes - sizeof *head);
      return true;
    });
  }
  EXPECT_TRUE(take(arena, "zeros", 2));
  EXPECT_EQ(area_of(arena, 0).node_capacity, 0u);
}

}  // namespace
}  // namespace fbleprof::signal_safe
