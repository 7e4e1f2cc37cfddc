#include "report/text/quantity.h"

#include <gtest/gtest.h>

namespace fbleprof::report {
namespace {

TEST(Quantity, TimesHaveThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ(quantity(0, "ns"), "0");
  EXPECT_EQ(quantity(999, "ns"), "999 ns");
  EXPECT_EQ(quantity(1'234, "ns"), "1.23 us");
  EXPECT_EQ(quantity(12'345'678, "ns"), "12.3 ms");
  EXPECT_EQ(quantity(123'456'789'000, "ns"), "123 s");
}

TEST(Quantity, RequestedUnitIsUsedWhereItFits) {
  EXPECT_EQ(quantity(1'234'567, "ns", "ms"), "1.235 ms");
  EXPECT_EQ(quantity(100'000, "ns", "ms"), "0.100 ms");
  EXPECT_EQ(quantity(12'345, "ns", "ms"), "0.0123 ms");
  EXPECT_EQ(quantity(321, "ns", "ms"), "0.000321 ms");
  EXPECT_EQ(quantity(7, "ns", "ms"), "0.000007 ms");
  EXPECT_EQ(quantity(7, "ns", "s"), "0.000000007 s");
  EXPECT_EQ(quantity(1'234'567, "ns", "ns"), "1,234,567 ns");
  EXPECT_EQ(quantity(1536, "bytes", "KiB"), "1.500 KiB");
  EXPECT_EQ(quantity(1'234'567, "count", "ms"), "1,234,567");
  EXPECT_FALSE(is_known_unit("fortnight"));
  EXPECT_TRUE(is_known_unit("GiB"));
}

TEST(Quantity, CountsHaveThousandsSeparators) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(1000), "1,000");
  EXPECT_EQ(count(18446744073709551615u), "18,446,744,073,709,551,615");
}

TEST(Quantity, ACountOfOneIsSingular) {
  EXPECT_EQ(counted(1, "call"), "1 call");
  EXPECT_EQ(counted(1000, "call"), "1,000 calls");
  EXPECT_EQ(counted(0, "process"), "0 processes");
}

TEST(Quantity, PercentOfZeroIsNotANumber) {
  EXPECT_EQ(percent(1, 3), "33.3%");
  EXPECT_EQ(percent(0, 0), "-");
}

}  // namespace
}  // namespace fbleprof::report
