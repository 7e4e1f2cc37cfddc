#include "report/importers/speedscope.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/costs.h"
#include "tests/support/profile_builder.h"
#include "tests/support/text.h"

namespace fbleprof::importers {
namespace {

using namespace profile;

constexpr char kSchema[] = R"("$schema": "https://www.speedscope.app/file-format-schema.json")";

// A file with the frames a, b and c, and these profiles.
std::string file_with(const std::string& profiles) {
  return std::string("{") + kSchema + R"(, "shared": {"frames": [{"name": "a"}, )" +
         R"({"name": "b", "file": "b.c", "line": 7, "col": 3}, {"name": "c", "line": -1}]}, )" +
         R"("profiles": [)" + profiles + "]}";
}

std::string sampled(const std::string& samples, const std::string& weights,
                    const std::string& unit = "milliseconds") {
  return R"({"type": "sampled", "name": "t", "unit": ")" + unit +
         R"(", "startValue": 0, "endValue": 9, "samples": )" + samples + R"(, "weights": )" +
         weights + "}";
}

std::string evented(const std::string& events) {
  return R"({"type": "evented", "name": "t", "unit": "none", "startValue": 0, "endValue": 9, )"
         R"("events": [)" +
         events + "]}";
}

std::string fault_of(const std::string& text) {
  const auto profile = parse_speedscope(text, "f.json");
  return profile ? "none" : profile.error().line();
}

TEST(Speedscope, IsKnownByItsSchema) {
  EXPECT_TRUE(is_speedscope(std::string(" \n{") + kSchema));
  EXPECT_FALSE(is_speedscope("{}"));
  EXPECT_FALSE(is_speedscope(kSchema));
  EXPECT_FALSE(is_speedscope("  \n"));
  EXPECT_FALSE(is_speedscope(""));
}

TEST(Speedscope, OurExportsTellSampledAddresses) {
  const auto file = [](const char* address) {
    return std::string("{") + kSchema +
           R"(, "exporter": "fble-prof-report", "shared": {"frames": [)" +
           R"({"name": "f"}, {"name": "f", "address": ")" + address +
           R"(", "module": "/bin/prog", "build_id": "abcd"}]}, "profiles": [)" +
           sampled("[[0, 1]]", "[1]") + "]}";
  };
  const auto profile = parse_speedscope(file("0x1f0"), "f.json");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  const Functions& functions = profile->functions();
  const std::size_t f = profile->nodes().function[2].index();
  EXPECT_EQ(functions.kind[f], FunctionKind::kInstruction);
  EXPECT_EQ(functions.address[f], 0x1f0u);
  const Module& module = profile->modules()[functions.module[f].index()];
  EXPECT_EQ(profile->text(module.path), "/bin/prog");
  EXPECT_EQ(profile->text(module.build_id), "abcd");
  for (const char* address : {"", "1f0", "0x", "0x1g", "0x11112222333344445"}) {
    const auto other = parse_speedscope(file(address), "f.json");
    ASSERT_TRUE(other.ok()) << address;
    EXPECT_EQ(other->functions().kind[other->nodes().function[2].index()], FunctionKind::kImported)
        << address;
  }
}

TEST(Speedscope, SamplesAreSummedByStack) {
  const auto profile = parse_speedscope(
      file_with(sampled("[[0, 1], [0, 1], [0], [0, 1, 2]]", "[1, 2, 4, 8]")), "f.json");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  const Metric* time = profile->find_metric("time");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->unit, "ns");
  EXPECT_EQ(profile->nodes().count(), 4u);
  EXPECT_EQ(time->value(NodeId(1)), 4'000'000u);
  EXPECT_EQ(time->value(NodeId(2)), 3'000'000u);
  EXPECT_EQ(time->value(NodeId(3)), 8'000'000u);
}

TEST(Speedscope, FractionsAreRoundedAndTheLargestIsKept) {
  const auto profile = parse_speedscope(
      file_with(sampled("[[0], [1], [2]]", "[0.0015, 1.5, 99999999999999]", "seconds")), "f.json");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  const Metric* time = profile->find_metric("time");
  EXPECT_EQ(time->value(NodeId(1)), 1'500'000u);
  EXPECT_EQ(time->value(NodeId(2)), 1'500'000'000u);
  EXPECT_GT(time->value(NodeId(3)), std::uint64_t{1} << 62);
}

TEST(Speedscope, EventsCostWhatLiesBetweenThem) {
  const auto profile = parse_speedscope(
      file_with(
          evented(R"({"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 3},)"
                  R"({"type": "C", "frame": 1, "at": 7}, {"type": "C", "frame": 0, "at": 8})")),
      "f.json");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  const Metric* weight = profile->find_metric("weight");
  EXPECT_EQ(weight->value(NodeId(1)), 3u);
  EXPECT_EQ(weight->value(NodeId(2)), 4u);
}

TEST(Speedscope, ProfilesInOneUnitAreThreads) {
  const auto profile = parse_speedscope(
      file_with(sampled("[[0]]", "[1]") + "," + sampled("[[0]]", "[2]")), "f.json");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_EQ(profile->threads().size(), 2u);
}

TEST(Speedscope, CallsOfTheRootAreNotCounted) {
  std::string text = file_with(R"({"type": "sampled", "name": "calls", "unit": "none", )"
                               R"("samples": [[], [0]], "weights": [3, 4]})");
  text.insert(1, R"("exporter": "fble-prof-report", )");
  const auto profile = parse_speedscope(text, "f.json");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  ASSERT_EQ(profile->edges().count(), 1u);
  EXPECT_EQ(profile->edges().calls[0], 4u);
}

TEST(Speedscope, DamageGivesOneLine) {
  EXPECT_TRUE(test::holds(fault_of("{"), "this is not a complete JSON document"));
  EXPECT_TRUE(test::holds(fault_of("[]"), "not a JSON object"));
  EXPECT_TRUE(test::holds(fault_of("{}"), "no frames or no profiles"));
  EXPECT_TRUE(test::holds(fault_of(R"({"shared": 1, "profiles": []})"), "no frames"));
  EXPECT_TRUE(test::holds(fault_of(R"({"shared": {"frames": []}, "profiles": 1})"), "no profiles"));
  EXPECT_TRUE(test::holds(fault_of(file_with("")), "no profile in it"));
  EXPECT_TRUE(test::holds(fault_of(file_with("3")), "a profile that is not an object"));
  EXPECT_TRUE(test::holds(fault_of(R"({"shared": {"frames": [3]}, "profiles": [{}]})"),
                          "a frame that is not an object"));
  EXPECT_TRUE(test::holds(fault_of(file_with(sampled("[[0]]", "[1]", "parsecs"))), "parsecs"));
  EXPECT_TRUE(test::holds(fault_of(file_with(R"({"type": "drawn", "unit": "none"})")), "drawn"));
}

TEST(Speedscope, SamplesAndWeightsBelongTogether) {
  for (const auto& [samples, weights] :
       {std::pair("3", "[1]"), std::pair("[[0]]", "3"), std::pair("[[0]]", "[1, 2]")}) {
    EXPECT_TRUE(test::holds(fault_of(file_with(sampled(samples, weights))),
                            "without a weight for each sample"));
  }
  for (const auto& [samples, weights] :
       {std::pair("[3]", "[1]"), std::pair("[[0]]", "[-1]"), std::pair("[[0]]", R"(["much"])"),
        std::pair("[[0]]", "[1e19]")}) {
    EXPECT_TRUE(test::holds(fault_of(file_with(sampled(samples, weights))),
                            "not a stack, or has no weight"));
  }
  for (const char* stack : {"[[3]]", "[[-1]]", R"([["a"]])"}) {
    EXPECT_TRUE(test::holds(fault_of(file_with(sampled(stack, "[1]"))), "a missing frame"));
  }
}

TEST(Speedscope, EventsMustFitEachOther) {
  EXPECT_TRUE(
      test::holds(fault_of(file_with(R"({"type": "evented", "unit": "none"})")), "without events"));
  for (const char* event :
       {"3", R"({"type": "O", "frame": 0})", R"({"type": "O", "at": 1})",
        R"({"type": "O", "frame": 9, "at": 1})", R"({"type": "O", "frame": 0, "at": -1})"}) {
    EXPECT_TRUE(test::holds(fault_of(file_with(evented(event))), "without its frame or time"));
  }
  EXPECT_TRUE(test::holds(fault_of(file_with(evented(R"({"type": "C", "frame": 0, "at": 1})"))),
                          "closes what is not open"));
  EXPECT_TRUE(test::holds(fault_of(file_with(evented(R"({"type": "O", "frame": 0, "at": 5}, )"
                                                     R"({"type": "C", "frame": 0, "at": 4})"))),
                          "back in time"));
}

}  // namespace
}  // namespace fbleprof::importers
