#include "report/cli/gate.h"

#include <gtest/gtest.h>

#include "tests/support/profile_builder.h"
#include "tests/support/text.h"
#include "transform/baseline.h"
#include "transform/join.h"
#include "transform/merge.h"

namespace fbleprof::report {
namespace {

std::string check(const std::string& rule, bool normalize = false) {
  const profile::Profile both = transform::merge(transform::join(
      {test::profile_of("m parse = 105\nm parse -> 3\nm parse lex -> 9\nm io = 95\n"),
       transform::as_baseline(
           test::profile_of("m parse = 100\nm parse -> 2\nm parse lex -> 9\nm io = 100\n"))}));
  const auto limit = parse_limit(rule);
  if (!limit) return "bad rule";
  auto broken = check_limit(both, *limit, normalize);
  return broken ? *broken : "bad use";
}

TEST(Gate, LimitsAreExact) {
  EXPECT_EQ(check("+5% cpu in parse"), "");
  EXPECT_EQ(check("+4.9999% cpu in parse"),
            "failed: +4.9999% cpu in parse: cpu dominated in parse 100 ns -> 105 ns (+5 ns, "
            "+5.00%)");
  EXPECT_EQ(check("+5ns cpu in parse"), "");
  EXPECT_NE(check("+4ns cpu in parse"), "");
  EXPECT_EQ(check("0 cpu"), "");
}

TEST(Gate, SignSelectsGrowthOrShrinkage) {
  EXPECT_EQ(check("+0 cpu in io"), "");
  EXPECT_NE(check("-4% cpu in io"), "");
  EXPECT_NE(check("4% cpu in io"), "");
  EXPECT_EQ(check("-0 cpu in parse"), "");
}

TEST(Gate, CallLimitsApplyToTheFunctionItself) {
  EXPECT_EQ(check("+0 calls in parse"),
            "failed: +0 calls in parse: calls self in parse 2 -> 3 (+1, +50.00%)");
  EXPECT_TRUE(test::holds(check("+0 calls dominated in parse"), "11 -> 12"));
  EXPECT_EQ(check("0 calls in lex"), "");
}

TEST(Gate, NormalizedBaseIsScaledExceptItsCalls) {
  EXPECT_NE(check("+0 calls in parse", true), "");
  EXPECT_EQ(check("0 cpu", true), "");
}

TEST(Gate, InvalidRulesDoNotPass) {
  for (const char* rule : {"", "x", "5", "5x cpu", "+% cpu", "5% cpu parse", "5% cpu in",
                           "99999999999999999999 cpu"}) {
    EXPECT_EQ(check(rule), "bad rule") << rule;
  }
  for (const char* rule : {"5% beer", "5% cpu in nothing", "5KiB cpu", "5% cpu in re:["}) {
    EXPECT_EQ(check(rule), "bad use") << rule;
  }
}

}  // namespace
}  // namespace fbleprof::report
