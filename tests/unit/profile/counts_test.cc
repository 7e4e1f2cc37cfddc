#include "profile/counts.h"

#include <gtest/gtest.h>

namespace fbleprof::profile {
namespace {

using Values = std::vector<std::uint64_t>;

constexpr std::uint64_t kLarge = 0x123456789abcdef0;

TEST(Counts, LargeAndSmallCountsAreReadBackUnchanged) {
  Counts counts;
  Values expected;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    expected.push_back(i % 1700 == 3 ? kLarge + i : i);
    counts.push_back(expected.back());
  }
  ASSERT_EQ(counts.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(counts[i], expected[i]);
  EXPECT_EQ(counts.wide(), expected);
}

TEST(Counts, LargeCountReplacedBySmallOneIsSmall) {
  Counts counts(3);
  counts.set(1, kLarge);
  counts.set(1, 7);
  EXPECT_EQ(counts.wide(), (Values{0, 7, 0}));
}

TEST(Counts, AdditionCarriesIntoTheUpperHalf) {
  Counts counts(2);
  counts.add(0, 0xffffffff);
  counts.add(0, 1);
  EXPECT_EQ(counts.wide(), (Values{0x100000000, 0}));
}

TEST(Counts, SumsSaturate) {
  Counts counts(1);
  counts.add(0, kLargestCount - 1);
  counts.add(0, 2);
  EXPECT_EQ(counts[0], kLargestCount);
}

TEST(Counts, RemovedCountsStayZero) {
  Counts counts(3000);
  counts.set(2000, kLarge);
  counts.resize(1500);
  counts.resize(3000);
  EXPECT_EQ(counts.wide(), Values(3000));
}

TEST(RoundedQuotient, RoundsToTheNearestAlsoNearTheMaximum) {
  EXPECT_EQ(rounded_quotient(7, 2), 4u);
  EXPECT_EQ(rounded_quotient(7, 3), 2u);
  EXPECT_EQ(rounded_quotient(8, 3), 3u);
  EXPECT_EQ(rounded_quotient(0, 5), 0u);
  EXPECT_EQ(rounded_quotient(kLargestCount, kLargestCount), 1u);
  EXPECT_EQ(rounded_quotient(kLargestCount, 2), std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace fbleprof::profile
