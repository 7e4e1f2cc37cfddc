// How a user names moments, and what a mark makes of an earlier reading.
#include "transform/moments.h"

#include <gtest/gtest.h>

#include "profile/reader.h"
#include "tests/support/file_builder.h"
#include "tests/support/profile_builder.h"
#include "transform/mark.h"

namespace fbleprof::transform {
namespace {

using test::FileBuilder;

constexpr std::uint64_t kSecond = 1'000'000'000;

profile::Profile read(const FileBuilder& file) {
  return std::move(profile::read_bytes(file.bytes(), "f")->profile);
}

FileBuilder half() {
  FileBuilder file;
  file.header().end_monotonic_ns = file.header().start_monotonic_ns + 35 * kSecond;
  file.charge("load", {.cpu_ns = 10});
  file.calls("load", 1);
  file.calls("load parse", 2);
  file.back("load parse", "load parse", 7);
  return file;
}

FileBuilder phases() {
  FileBuilder file = half();
  file.snapshot("loaded", 10 * kSecond);
  file.charge("work", {.cpu_ns = 20});
  file.snapshot("", 30 * kSecond, format::SnapshotReason::kPeak);
  file.charge("work", {.cpu_ns = 5});
  return file;
}

Window found(const char* text) {
  const auto span = parse_span(text);
  EXPECT_TRUE(span.ok()) << text;
  const auto window = find_window(read(phases()), *span);
  EXPECT_TRUE(window.ok()) << text << ": " << (window.ok() ? "" : window.error().line());
  return window.ok() ? *window : Window();
}

TEST(Moments, CanBeNamesNumbersPeaksAndTimes) {
  EXPECT_EQ(found("loaded..").from, 0u);
  EXPECT_EQ(found("..loaded").to, 0u);
  EXPECT_EQ(found("#2..").from, 1u);
  EXPECT_EQ(found("loaded..peak").to, 1u);
  EXPECT_EQ(found("10s..30000ms").from, 0u);
  EXPECT_EQ(found("10s..0.5min").to, 1u);
  EXPECT_EQ(found("-5s..").from, 1u);
  EXPECT_FALSE(found("2s..end").from.has_value());
  EXPECT_FALSE(found("start..end").to.has_value());
}

TEST(Moments, ErrorListsTheSnapshotsThatExist) {
  const auto window = find_window(read(phases()), {"nothing", ""});
  ASSERT_FALSE(window.ok());
  EXPECT_EQ(window.error().line(),
            "f: no snapshot \"nothing\": there are loaded (10 s), #2 (30 s)");
  EXPECT_FALSE(find_window(read(half()), {"loaded", ""}).ok());
  EXPECT_FALSE(find_window(read(phases()), {"peak", "loaded"}).ok());
  for (const char* bad : {"", "a", "a.b"}) EXPECT_FALSE(parse_span(bad).ok()) << bad;
}

TEST(Moments, TimesOfDecadesAreNoMoments) {
  for (const char* from : {"999999999h", "-999999999h", "1e300s", "inf", "nans"}) {
    EXPECT_FALSE(find_window(read(phases()), {from, ""}).ok()) << from;
  }
  EXPECT_EQ(found("2000000000000ns..").from, 1u);
}

TEST(Moments, WindowEndsAtNoTimeBeforeTheFirstSnapshot) {
  for (const char* end : {"1ms", "-60s"}) {
    const auto window = find_window(read(phases()), {"", end});
    ASSERT_FALSE(window.ok()) << end;
    EXPECT_EQ(window.error().line(),
              std::string("f: no snapshot up to ") + end + ": there are loaded (10 s), #2 (30 s)");
  }
}

TEST(Moments, HoldTotals) {
  const auto all = moments(read(phases()), true);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "loaded");
  EXPECT_EQ(name_of(all[1]), "#2");
  const auto cpu = [&](std::size_t i) {
    for (const auto& total : all[i].totals) {
      if (total.metric == "cpu") return total.value;
    }
    return std::uint64_t{0};
  };
  EXPECT_EQ(cpu(0), 10u);
  EXPECT_EQ(cpu(1), 30u);
}

TEST(Moments, HoldTotalsOfMetricsMadeOfDerivedOnes) {
  FileBuilder file = half();
  std::string last = "cpu";
  constexpr std::size_t kDerived = 48;  // each twice the one before
  for (std::size_t i = 1; i <= kDerived; ++i) {
    const std::string name = "m" + std::to_string(i);
    file.derived(name, "ns", format::Role::kAmount, last + " + " + last);
    last = name;
  }
  file.snapshot("loaded", 10 * kSecond);
  const auto all = moments(read(file), true);
  ASSERT_EQ(all.size(), 1u);
  for (const auto& total : all[0].totals) {
    if (total.metric == last) EXPECT_EQ(total.value, std::uint64_t{10} << kDerived);
  }
  EXPECT_EQ(all[0].totals.size(), read(file).metrics().size());
}

TEST(Mark, ShowsCostsSinceAnEarlierReading) {
  FileBuilder file = half();
  const profile::Profile then = read(file);
  file.charge("work", {.cpu_ns = 20});
  file.charge("load", {.cpu_ns = 3});
  file.calls("load other", 4);
  file.calls("load parse", 5);
  const auto marked = with_mark(read(file), then, "mark");
  ASSERT_TRUE(marked.has_value());
  const profile::Profile since = window(*marked, {.from = 0, .to = std::nullopt});
  const std::string text = test::text_of(since);
  EXPECT_NE(text.find("work cpu=20"), std::string::npos) << text;
  EXPECT_NE(text.find("load cpu=3"), std::string::npos) << text;
  EXPECT_NE(text.find("other calls=4"), std::string::npos) << text;
  EXPECT_NE(text.find("parse calls=5"), std::string::npos) << text;
  EXPECT_EQ(text.find(": 7"), std::string::npos) << text;
}

// A file may be replaced between two readings of a directory. What only the earlier one has is left
// out, and the order of siblings does not matter.
TEST(Mark, TakesOnlyWhatBothReadingsHave) {
  FileBuilder before, after;
  for (FileBuilder* file : {&before, &after}) {
    file->block("a", "", 0);
    file->block("b", "", 0);
  }
  before.charge("b", {.cpu_ns = 1});
  before.charge("gone", {.cpu_ns = 100});
  before.charge("gone b", {.cpu_ns = 100});
  before.charge("a", {.cpu_ns = 2});
  before.back("a", "a", 3);
  before.thread("worker", 7);
  before.charge("a", {.cpu_ns = 100});
  after.charge("a", {.cpu_ns = 12});
  after.charge("b", {.cpu_ns = 11});
  after.metric("faults", "count", format::Role::kAmount, format::MetricPlace::kValues,
               test::kFirstFreeWord);
  after.value("b", test::kFirstFreeWord) = 9;
  const auto marked = with_mark(read(after), read(before), "mark");
  ASSERT_TRUE(marked.has_value());
  const profile::Profile since = window(*marked, {.from = 0, .to = std::nullopt});
  EXPECT_EQ(test::text_of(since), "[root]\n.b cpu=10\n.a cpu=10\n");
  EXPECT_EQ(since.find_metric("faults")->value(profile::NodeId(1)), 9u);
}

TEST(Mark, ProfilesOfAnotherRunAreRefused) {
  FileBuilder other = half(), later = half();
  other.header().pid += 1;
  later.header().start_realtime_ns += 1;
  EXPECT_FALSE(with_mark(read(half()), read(other), "mark").has_value());
  EXPECT_FALSE(with_mark(read(half()), read(later), "mark").has_value());
  EXPECT_FALSE(with_mark(read(half()), profile::Profile(), "mark").has_value());
  EXPECT_FALSE(with_mark(profile::Profile(), read(half()), "mark").has_value());
}

}  // namespace
}  // namespace fbleprof::transform
