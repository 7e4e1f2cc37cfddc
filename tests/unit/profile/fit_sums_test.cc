#include "profile/fit_sums.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "profile/reader.h"
#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::profile {
namespace {

constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;

std::uint64_t sum_of(const Profile& profile, std::string_view metric) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : profile.find_metric(metric)->values->wide()) sum += value;
  return sum;
}

ReadResult read(const test::FileBuilder& file) {
  return std::move(read_bytes(file.bytes(), "mlmon.out")).value();
}

TEST(FitSums, SumThatJustFitsIsLeftAlone) {
  test::FileBuilder file;
  file.charge("a", {.cpu_ns = kHalf, .wall_ns = 1});
  file.charge("a b", {.cpu_ns = kHalf - 1, .wall_ns = 1});
  const Profile profile = read(file).profile;
  EXPECT_EQ(sum_of(profile, "cpu"), kLargestCount);
  EXPECT_TRUE(profile.warnings().empty());
}

TEST(FitSums, HugeTimesOfADamagedFileAreLimitedWithAWarning) {
  test::FileBuilder file;
  file.charge("a", {.cpu_ns = kHalf, .wall_ns = 1});
  file.charge("b", {.cpu_ns = kHalf, .wall_ns = 1});
  file.record<format::Thread>(file.current_thread())->cpu_ns = 0;
  const Profile profile = read(file).profile;
  EXPECT_EQ(sum_of(profile, "cpu"), kLargestCount);
  EXPECT_EQ(sum_of(profile, "wall"), 2u);
  ASSERT_EQ(profile.warnings().size(), 1u);
  EXPECT_EQ(profile.warnings()[0],
            "mlmon.out: cpu adds up to more than 2^64 - 1; what is beyond is left out: "
            "figures are too low");
}

TEST(FitSums, OneLineNamesAllFiguresThatAreLimited) {
  const auto line_of = [](const std::vector<std::string_view>& others) {
    test::FileBuilder file;
    file.charge("a", {.cpu_ns = kHalf, .wall_ns = kHalf});
    file.charge("b", {.cpu_ns = kHalf, .wall_ns = kHalf});
    std::uint16_t word = test::kFirstFreeWord;
    for (const std::string_view name : others) {
      file.metric(name, "count", format::Role::kEvent, format::MetricPlace::kValues, word);
      file.value("a", word) = file.value("b", word) = kHalf;
      ++word;
    }
    auto& thread = *file.record<format::Thread>(file.current_thread());
    thread.cpu_ns = thread.wall_ns = 0;
    const auto warnings = read(file).profile.warnings();
    EXPECT_EQ(warnings.size(), 1u);
    return warnings.empty() ? std::string() : warnings[0];
  };
  EXPECT_TRUE(test::holds(line_of({}), "mlmon.out: cpu and wall add up to more than 2^64 - 1"));
  EXPECT_TRUE(test::holds(line_of({"x"}), ": cpu, wall and x add up to"));
  EXPECT_TRUE(test::holds(line_of({"x", "y", "z"}), ": cpu, wall, x and 2 more add up to"));
}

TEST(FitSums, HugeCallCountsAreLimitedOnEdgesAndNodes) {
  test::FileBuilder file;
  file.calls("a", kHalf);
  file.calls("a b", kHalf);
  file.back("a b", "a", kHalf);
  const Profile profile = read(file).profile;
  EXPECT_EQ(sum_of(profile, "calls"), kLargestCount);
  std::uint64_t on_edges = 0;
  for (const std::uint64_t calls : profile.edges().calls.wide()) on_edges += calls;
  EXPECT_EQ(on_edges, kLargestCount);
  ASSERT_EQ(profile.warnings().size(), 1u);
  EXPECT_TRUE(test::holds(profile.warnings()[0], "calls adds up"));
}

TEST(FitSums, HugeValuesOfThreadsAreLimitedToo) {
  test::FileBuilder file;
  file.calls("a", 1);
  file.record<format::Thread>(file.current_thread())->lost_calls = kHalf;
  file.thread("second", 2);
  file.calls("a", 1);
  file.record<format::Thread>(file.current_thread())->lost_calls = kHalf;
  const Profile profile = read(file).profile;
  EXPECT_EQ(profile.threads()[0].lost_calls + profile.threads()[1].lost_calls, kLargestCount);
  ASSERT_EQ(profile.warnings().size(), 1u);
  EXPECT_TRUE(test::holds(profile.warnings()[0], "lost calls"));
}

TEST(FitSums, OverflowOfAnImportedNodeGivesAWarning) {
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const NodeId a = builder.child(root, builder.named_function("a"));
  builder.charge(a, cpu, kHalf);
  builder.charge(a, cpu, kHalf);
  const Profile profile = builder.build();
  EXPECT_EQ(sum_of(profile, "cpu"), kLargestCount);
  ASSERT_EQ(profile.warnings().size(), 1u);
}

TEST(FitSums, MaximaAreNotSummed) {
  ProfileBuilder builder;
  const MetricId peak = builder.add_metric("peak", "bytes", Aggregation::kMax);
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  builder.charge(root, peak, kLargestCount);
  builder.charge(builder.child(root, builder.named_function("a")), peak, kLargestCount);
  EXPECT_TRUE(builder.build().warnings().empty());
}

}  // namespace
}  // namespace fbleprof::profile
