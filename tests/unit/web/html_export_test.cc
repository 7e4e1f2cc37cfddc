// The pages in one file.
#include "tests/support/text.h"
#include "tests/unit/exporters/export_of.h"

namespace fbleprof::report {
namespace {

TEST(Html, NoNameEndsTheScriptOrTheData) {
  const std::string page =
      export_of("html", "</script><script>alert(1)</script> <!--<script> \"'onload=x = 5\n");
  EXPECT_FALSE(test::holds(page, "<script>alert"));
  EXPECT_FALSE(test::holds(page, "<!--<"));
  EXPECT_TRUE(test::holds(page, "&lt;script&gt;alert(1)"));
  EXPECT_TRUE(test::holds(page, "&quot;&#39;onload=x"));
}

TEST(Html, PolicyAllowsItsOwnScriptAndNothingElse) {
  const std::string page = export_of("html", "a = 5\n");
  EXPECT_TRUE(test::holds(page, "default-src 'none'; script-src 'sha256-"));
  EXPECT_FALSE(test::holds(page, "unsafe"));
  EXPECT_FALSE(test::holds(page, "http:"));
  EXPECT_FALSE(test::holds(page, "https:"));
  EXPECT_FALSE(test::holds(page, " style=\""));
}

TEST(Html, HoldsThePagesOfItsFunctions) {
  const std::string page = export_of("html", "a = 5\na b = 7\n");
  for (const char* name : {"/overview", "/flame", "/tree", "/self", "/dominated", "/block/id:"}) {
    EXPECT_TRUE(test::holds(page, std::string("<template data-page=\"") + name)) << name;
  }
}

TEST(Html, AGreatestValueHasNoFlameGraphAndNoLists) {
  profile::Parts parts = test::profile_of("a b = 5\na c = 7\n").parts();
  parts.metrics.push_back(parts.metrics.front());
  parts.metrics.back().name = "longest-wait";
  parts.metrics.back().aggregation = profile::Aggregation::kMax;
  const std::string page =
      export_of("html", profile::Profile(std::move(parts)), {}, "longest-wait");
  EXPECT_FALSE(test::holds(page, "class=contexts data-metric=\"\""));
  EXPECT_TRUE(test::holds(page, "class=contexts data-metric=\"cpu\""));
  EXPECT_TRUE(test::holds(page, "a flame graph adds values up, and those of &quot;longest-wait"));
}

}  // namespace
}  // namespace fbleprof::report
