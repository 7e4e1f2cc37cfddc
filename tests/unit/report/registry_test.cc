// Every view and every exporter that is registered, in every format.
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <set>

#include "report/exporters/exporter.h"
#include "tests/support/shown.h"
#include "tests/support/text.h"

namespace fbleprof::report {
namespace {

constexpr std::string_view kText =
    "main = 100\nmain -> 1\nmain a::f(int) = 300\nmain a::f(int) -> 3\n"
    "main a::f(int) b = 100\nmain a::f(int) b -> 10\nmain a::f(int) b ~> main a::f(int) : 2\n";

// The number of fields of a line of CSV.
std::size_t fields(std::string_view line) {
  std::size_t count = 1;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    count += c == ',' && !quoted;
  }
  return count;
}

// Views of code read files; integration tests run them.
bool can_be_shown(const View& view) {
  return view.show != nullptr && view.topic != View::Topic::kCode;
}

TEST(Registry, EveryViewDescribesItself) {
  std::set<std::string_view> names;
  for (const View& view : views()) {
    EXPECT_TRUE(names.insert(view.name).second) << view.name;
    EXPECT_FALSE(view.help.empty()) << view.name;
    EXPECT_TRUE(view.show != nullptr || view.print != nullptr) << view.name;
    EXPECT_TRUE(view.value.empty() || !view.implied.empty() || !view.example.empty()) << view.name;
  }
  EXPECT_EQ(default_view().name, "tree");
}

TEST(Registry, EveryViewIsShownInEveryFormat) {
  for (const View& view : views()) {
    if (!can_be_shown(view)) continue;
    const std::string value(view.implied.empty() ? view.example : view.implied);
    const std::string text = test::shown(view.name, kText, {}, value);
    EXPECT_FALSE(test::holds(text, "names no")) << view.name << "\n" << text;
    const std::string csv = test::shown(view.name, kText, {.format = Format::kCsv}, value);
    const std::size_t columns = fields(csv.substr(0, csv.find('\n')));
    for (std::size_t begin = 0, end; (end = csv.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      EXPECT_EQ(fields(csv.substr(begin, end - begin)), columns) << view.name << "\n" << csv;
    }
    rapidjson::Document json;
    json.Parse(test::shown(view.name, kText, {.format = Format::kJson}, value).c_str());
    ASSERT_FALSE(json.HasParseError()) << view.name;
    EXPECT_STREQ(json["schema"].GetString(), "fbleprof/1");
    EXPECT_EQ(std::string(json["view"].GetString()).find(view.name == "block" ? "block" : ""), 0u);
  }
}

TEST(Registry, EveryExporterWritesOutput) {
  const auto profile = test::profile_of(kText);
  const Export input{profile, *profile.find_metric("cpu")};
  for (const Exporter& exporter : exporters()) {
    if (exporter.name == "svg") continue;  // graphviz may not be installed
    const auto written = exporter.write(input);
    ASSERT_TRUE(written.ok()) << exporter.name;
    EXPECT_FALSE(written->empty()) << exporter.name;
  }
}

}  // namespace
}  // namespace fbleprof::report
