// Truncated files: a valid prefix is a profile.
#include <gtest/gtest.h>

#include <numeric>

#include "profile/reader.h"
#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::profile {
namespace {

using test::FileBuilder;

FileBuilder sample_file() {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 1});
  file.charge("a b", {.cpu_ns = 1});
  file.charge("a b c", {.cpu_ns = 1});
  file.charge("a d", {.cpu_ns = 1});
  file.thread("worker", 5);
  file.charge("w", {.cpu_ns = 1});
  file.charge("w x", {.cpu_ns = 1});
  return file;
}

std::uint64_t total_cpu(const Profile& profile) {
  const Metric* cpu = profile.find_metric("cpu");
  if (cpu == nullptr || !cpu->values) return 0;
  const std::vector<std::uint64_t> values = cpu->values->wide();
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

TEST(TruncatedFile, KeepsItsValidPrefix) {
  FileBuilder file = sample_file();
  const auto whole = file.bytes();
  std::size_t nodes_before = 0;
  for (std::size_t length = sizeof(format::Header); length < whole.size(); ++length) {
    auto cut = whole;
    cut.resize(length);
    auto result = read_bytes(cut, "f");
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->profile.warnings().size(), 1u) << length;
    EXPECT_TRUE(test::holds(result->profile.warnings()[0], "truncated"));
    EXPECT_EQ(result->damage.other, 0u) << length << result->damage.first_what;
    EXPECT_GE(result->profile.nodes().count(), nodes_before) << length;
    nodes_before = result->profile.nodes().count();
  }
}

TEST(TruncatedFile, LosesOnlyTheLastNodes) {
  FileBuilder file;
  file.charge("a", {.cpu_ns = 1});
  file.charge("a b", {.cpu_ns = 1});
  const std::size_t before = file.bytes().size();
  file.thread("worker", 5);
  file.charge("a c", {.cpu_ns = 1});
  auto cut = file.bytes();
  cut.resize(before);
  auto result = read_bytes(cut, "f");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->profile.nodes().count(), 3u);
  EXPECT_EQ(total_cpu(result->profile), 2u);
  EXPECT_EQ(result->profile.threads().size(), 1u);
}

TEST(TruncatedFile, WithoutItsReservedSpaceIsComplete) {
  FileBuilder file = sample_file();
  auto bytes = file.bytes();
  bytes.resize(bytes.size() + 4096);
  auto result = read_bytes(bytes, "f");
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->profile.warnings().empty());
  EXPECT_EQ(total_cpu(result->profile), 6u);
}

}  // namespace
}  // namespace fbleprof::profile
