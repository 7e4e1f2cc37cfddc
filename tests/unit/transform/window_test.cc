#include "transform/window.h"

#include <gtest/gtest.h>

#include "profile/reader.h"
#include "profile/verify.h"
#include "tests/support/file_builder.h"
#include "tests/support/profile_builder.h"

namespace fbleprof::transform {
namespace {

using test::FileBuilder;
using test::text_of;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint16_t kAllocated = test::kFirstFreeWord, kFreed = kAllocated + 1;

profile::Profile read(const FileBuilder& file) {
  auto image = profile::FileImage::from_bytes(file.bytes(), "f");
  auto result = profile::read_image(*image);
  EXPECT_FALSE(result.damage.any()) << result.damage.first_what;
  for (const profile::Check& check : profile::verify(*image, result)) {
    EXPECT_TRUE(check.ok) << check.what << ": " << check.detail;
  }
  return std::move(result.profile);
}

// Ten seconds of "load", then twenty of "work", ended by a peak and five more.
FileBuilder phases() {
  FileBuilder file;
  file.header().compaction = format::Compaction::kSuffix;
  file.header().end_monotonic_ns = file.header().start_monotonic_ns + 35 * kSecond;
  using format::MetricPlace;
  file.metric("allocated", "bytes", format::Role::kAmount, MetricPlace::kValues, kAllocated);
  file.metric("freed", "bytes", format::Role::kAmount, MetricPlace::kValues, kFreed);
  file.derived("live", "bytes", format::Role::kLevel, "allocated - freed");
  file.charge("load", {.cpu_ns = 10});
  file.calls("load", 1);
  file.value("load", kAllocated) = 100;
  file.snapshot("loaded", 10 * kSecond);
  file.charge("work", {.cpu_ns = 20, .wall_ns = 200});
  file.calls("work", 4);
  file.calls("work again", 4);
  file.back("work again", "work", 3);
  file.value("work", kAllocated) = 500;
  file.value("load", kFreed) = 60;
  file.snapshot("", 30 * kSecond, format::SnapshotReason::kPeak);
  file.charge("work", {.cpu_ns = 5});
  file.calls("work again", 1);
  file.back("work", "work", 2);
  file.value("work", kFreed) = 500;
  return file;
}

std::uint64_t value(const profile::Profile& profile, std::string_view metric,
                    std::string_view function) {
  const auto wanted = test::function_called(profile, function);
  for (std::size_t n = 0; n < profile.nodes().count(); ++n) {
    if (profile.nodes().function[n] == wanted) {
      return profile.find_metric(metric)->value(profile::NodeId(n));
    }
  }
  return 0;
}

TEST(Window, BeginsAtTheLastReset) {
  FileBuilder file = phases();
  file.snapshot("reset", 31 * kSecond, format::SnapshotReason::kReset);
  file.charge("work", {.cpu_ns = 3});
  file.snapshot("after", 32 * kSecond);
  const profile::Profile whole = read(file);
  const auto cpu = [&](const Window& which) {
    return value(window(whole, from_reset(whole, which)), "cpu", "work");
  };
  EXPECT_EQ(cpu({.from = {}, .to = 3}), 3u);
  EXPECT_EQ(cpu({.from = 0, .to = 3}), 28u);
  EXPECT_EQ(cpu({.from = {}, .to = 1}), 20u);  // before the reset
}

TEST(Window, ThreadsHaveTheFiguresOfTheWindow) {
  const profile::Profile whole = read(phases());
  const auto cpu = [&](const Window& which) { return window(whole, which).threads()[0].cpu_ns; };
  EXPECT_EQ(cpu({.from = 0, .to = 1}), 20u);
  EXPECT_EQ(cpu({.from = 1, .to = {}}), 5u);
  EXPECT_EQ(window(whole, {.from = 0, .to = 1}).threads()[0].wall_ns, 200u);
}

TEST(Window, SnapshotsAreThereInTheOrderOfTheirTaking) {
  const auto all = read(phases());
  ASSERT_EQ(all.snapshots().size(), 2u);
  EXPECT_EQ(all.text(all.snapshots()[0].name), "loaded");
  EXPECT_EQ(all.snapshots()[0].generation, 1u);
  EXPECT_EQ(all.snapshots()[0].time_ns, 10 * kSecond);
  EXPECT_EQ(all.snapshots()[1].reason, profile::SnapshotReason::kPeak);
  EXPECT_EQ(find_snapshot(all, "loaded"), 0u);
  EXPECT_EQ(find_snapshot(all, "nothing"), std::nullopt);
}

TEST(Window, APhaseHoldsOnlyItsOwnCosts) {
  const auto all = read(phases());
  EXPECT_EQ(text_of(window(all, {.from = {}, .to = find_snapshot(all, "loaded")})),
            "[root]\n.work\n..again\n.load cpu=10 calls=1\n"
            "work again ~> work : 0\nwork ~> work : 0\n");
  EXPECT_EQ(text_of(window(all, {.from = find_snapshot(all, "loaded"), .to = 1})),
            "[root]\n.work cpu=20 calls=7\n..again calls=4\n.load\n"
            "work again ~> work : 3\nwork ~> work : 0\n");
}

TEST(Window, TheLastSecondsRunFromASnapshotToThePresent) {
  const auto all = read(phases());
  EXPECT_EQ(snapshot_before_end(all, 5 * kSecond), 1u);
  EXPECT_EQ(snapshot_before_end(all, 10 * kSecond), 0u);
  EXPECT_EQ(snapshot_before_end(all, 60 * kSecond), std::nullopt);
  const auto last = window(all, {.from = snapshot_before_end(all, 5 * kSecond), .to = {}});
  EXPECT_EQ(text_of(last),
            "[root]\n.work cpu=5 calls=2\n..again calls=1\n.load\n"
            "work again ~> work : 0\nwork ~> work : 2\n");
  EXPECT_EQ(last.processes()[0].duration_ns, 5 * kSecond);
  EXPECT_TRUE(last.snapshots().empty());
}

TEST(Window, AtThePeakALevelHasItsValueOfThatMoment) {
  const auto all = read(phases());
  EXPECT_EQ(value(all, "live", "work"), 0u);
  EXPECT_EQ(value(all, "live", "load"), 40u);
  const auto peak =
      window(all, {.from = {}, .to = find_snapshot(all, profile::SnapshotReason::kPeak)});
  EXPECT_EQ(value(peak, "live", "work"), 500u);
  EXPECT_EQ(value(peak, "live", "load"), 40u);
  // Also in a window that begins with an amount above 0.
  EXPECT_EQ(value(window(all, {.from = 0, .to = 1}), "live", "load"), 40u);
  EXPECT_EQ(value(window(all, {.from = 0, .to = 1}), "freed", "load"), 60u);
}

TEST(Window, WithoutSnapshotsTheProfileDoesNotChange) {
  const auto all = read(phases());
  EXPECT_EQ(text_of(window(all, {})), text_of(all));
}

TEST(Window, UnfinishedSnapshotIsIgnored) {
  FileBuilder file = phases();
  const auto snapshot = file.snapshot("killed", 31 * kSecond);
  file.record<format::Snapshot>(snapshot)->is_complete = 0;
  EXPECT_EQ(read(file).snapshots().size(), 2u);
}

}  // namespace
}  // namespace fbleprof::transform
