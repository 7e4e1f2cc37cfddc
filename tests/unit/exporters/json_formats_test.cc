// speedscope, Firefox, JSON, and the page around the JSON.
#include <rapidjson/document.h>

#include <algorithm>

#include "profile/builder.h"
#include "tests/support/text.h"
#include "tests/unit/exporters/export_of.h"

namespace fbleprof::report {
namespace {

using namespace profile;

rapidjson::Document parsed(const std::string& text) {
  rapidjson::Document json;
  json.Parse(text.c_str());
  EXPECT_FALSE(json.HasParseError()) << text;
  return json;
}

TEST(Speedscope, EventsOpenAndCloseInTheOrderOfTheTree) {
  const auto json = parsed(export_of("speedscope", "a = 1\na b = 2\na b c = 3\nd = 4\n"));
  const auto& profile = json["profiles"][0];
  EXPECT_STREQ(profile["type"].GetString(), "evented");
  EXPECT_STREQ(profile["name"].GetString(), "cpu");
  EXPECT_STREQ(profile["unit"].GetString(), "nanoseconds");
  EXPECT_EQ(profile["endValue"].GetUint64(), 10u);
  std::string told;
  for (const auto& event : profile["events"].GetArray()) {
    const unsigned frame = event["frame"].GetUint();
    told += std::string(event["type"].GetString()) +
            json["shared"]["frames"][frame]["name"].GetString() +
            std::to_string(event["at"].GetUint64()) + " ";
  }
  EXPECT_EQ(told, "Oa0 Ob1 Oc3 Cc6 Cb6 Ca6 Od6 Cd10 ");
}

TEST(Speedscope, HasOneProfilePerMeasuredMetric) {
  const auto json = parsed(export_of("speedscope", "a = 1\na -> 5\n"));
  ASSERT_EQ(json["profiles"].Size(), 2u);
  EXPECT_STREQ(json["profiles"][1]["name"].GetString(), "calls");
  EXPECT_EQ(json["profiles"][1]["endValue"].GetUint64(), 5u);
  EXPECT_EQ(parsed(export_of("speedscope", "a = 1\n"))["profiles"].Size(), 1u);
}

TEST(Speedscope, PathsTooDeepForItsReaderBecomeOneFrame) {
  std::string path;
  for (int i = 0; i < 3000; ++i) path += "f" + std::to_string(i) + " ";
  const auto json = parsed(export_of("speedscope", "f0 = 1\n" + path + "= 9\n"));
  const auto& profile = json["profiles"][0];
  EXPECT_EQ(profile["endValue"].GetUint64(), 10u);
  const auto& events = profile["events"];
  ASSERT_EQ(events.Size(), 2002u);
  const auto& deepest = events[1000];
  EXPECT_STREQ(json["shared"]["frames"][deepest["frame"].GetUint()]["name"].GetString(),
               "[deeper]");
  EXPECT_EQ(deepest["at"].GetUint64(), 1u);
  EXPECT_EQ(events[1001]["at"].GetUint64(), 10u);
}

TEST(Firefox, ParentsComeBeforeChildrenAndPidIsText) {
  const auto json = parsed(export_of("firefox", "a = 1500000\na b = 500000\nc = 250000\n"));
  EXPECT_EQ(json["meta"]["preprocessedProfileVersion"].GetInt(), 66);
  const auto& stacks = json["shared"]["stackTable"];
  const int offsets[] = {0, 0, 1, 0};  // the root, a, b below a, c
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(stacks["prefixOffset"][i].GetInt(), offsets[i]);
  const auto& thread = json["threads"][0];
  EXPECT_TRUE(thread["pid"].IsString());
  EXPECT_STREQ(thread["samples"]["weightType"].GetString(), "tracing-ms");
  EXPECT_EQ(thread["samples"]["weight"][0].GetDouble(), 1.5);
  EXPECT_EQ(thread["samples"]["time"][1].GetDouble(), 1.5);
  EXPECT_EQ(thread["samples"]["length"].GetInt(), 3);
}

TEST(Json, HoldsContextsEdgesAndTotals) {
  const auto json =
      parsed(export_of("json", "a = 1\na -> 2\na b = 4\na b ~> a : 3\na b => a c : 6\n"));
  EXPECT_STREQ(json["format"].GetString(), "fbleprof-profile");
  EXPECT_EQ(json["version"].GetInt(), 1);
  EXPECT_EQ(json["total"].GetInt(), 5);
  EXPECT_EQ(json["metrics"][1]["total"].GetInt(), 11);
  EXPECT_EQ(json["nodes"]["parent"][0].GetInt(), -1);
  EXPECT_EQ(json["nodes"]["parent"][2].GetInt(), 1);
  EXPECT_EQ(json["nodes"]["values"][0][2].GetInt(), 4);
  std::string kinds;
  for (const auto& kind : json["edges"]["kind"].GetArray()) kinds += kind.GetString()[0];
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), 'b'), 1);  // "back"
  EXPECT_EQ(json["edges"]["from"].Size(), json["edges"]["calls"].Size());
}

}  // namespace
}  // namespace fbleprof::report
