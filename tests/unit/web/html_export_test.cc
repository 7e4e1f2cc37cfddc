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

// Metrics of the same values, in the profile's order.
profile::Profile with_metrics(const std::vector<std::string>& names) {
  profile::Parts parts = test::profile_of("a b = 5\na c = 7\n").parts();
  const profile::Metric first = parts.metrics.front();
  parts.metrics.clear();
  for (const std::string& name : names) {
    parts.metrics.push_back(first);
    parts.metrics.back().name = name;
  }
  return profile::Profile(std::move(parts));
}

TEST(Html, ItsMenusOfferOnlyWhatIsInTheFile) {
  const std::string page = export_of(
      "html", with_metrics({"cpu", "time", "third", "fourth", "fifth", "sixth"}), {}, "time");
  // The address of the chosen metric's pages names no metric.
  EXPECT_TRUE(test::holds(page, "<option value=\"\" selected>time "));
  EXPECT_TRUE(test::holds(page, "<option value=\"cpu\">cpu "));
  EXPECT_TRUE(test::holds(page, "<option value=\"fourth\">"));
  EXPECT_TRUE(test::holds(page, "data-page=\"/self?metric=fourth\""));
  EXPECT_FALSE(test::holds(page, "<option value=\"fifth\">"));
  EXPECT_FALSE(test::holds(page, ">Compare</a>"));
}

TEST(Html, CardsOfMetricsLeadToPagesInTheFile) {
  profile::Parts parts =
      with_metrics({"cpu", "live", "peak", "allocated", "leaked", "lost"}).parts();
  for (profile::Metric& metric : parts.metrics) metric.unit = "bytes";
  const std::string page = export_of("html", profile::Profile(std::move(parts)), {}, "live");
  EXPECT_TRUE(test::holds(page, "data-page=\"/memory\""));
  EXPECT_TRUE(test::holds(page, "href=\"#/self?metric=peak\""));
  EXPECT_FALSE(test::holds(page, "metric=live"));
  EXPECT_TRUE(test::holds(page, "<h2 class=metric-title>lost <b"));
  EXPECT_FALSE(test::holds(page, "metric=lost"));
}

}  // namespace
}  // namespace fbleprof::report
