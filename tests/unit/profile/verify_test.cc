#include "profile/verify.h"

#include <gtest/gtest.h>

#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::profile {
namespace {

using test::FileBuilder;

FileBuilder good_file() {
  FileBuilder file;
  file.charge("a b", {.cpu_ns = 10, .wall_ns = 12, .samples = 2, .overhead_ns = 1});
  file.calls("a", 1);
  file.calls("a b", 1);
  file.calls("a b b", 1);
  file.back("a b b", "a b b", 5);
  file.calls("a c", 0);
  file.tail("a b", "a c", 3);
  return file;
}

// The broken invariants.
std::vector<std::string> broken(const FileBuilder& file) {
  auto image = FileImage::from_bytes(file.bytes(), "f");
  EXPECT_TRUE(image.ok());
  std::vector<std::string> names;
  for (const Check& check : verify(*image, read_image(*image))) {
    if (!check.ok) names.push_back(check.what);
  }
  return names;
}

// Whether one of them mentions the text.
testing::AssertionResult contains(const std::vector<std::string>& names, std::string_view part) {
  std::string all;
  for (const std::string& name : names) all += name + "\n";
  return test::holds(all, part);
}

TEST(Verify, GoodFilePassesEveryCheck) { EXPECT_TRUE(broken(good_file()).empty()); }

TEST(Verify, TimeThatDiffersFromTheClockIsFound) {
  FileBuilder file = good_file();
  file.value("a b", test::kCpu) += 1;
  EXPECT_TRUE(contains(broken(file), "add up to its clock"));
}

TEST(Verify, LostSampleIsFound) {
  FileBuilder file = good_file();
  file.value("a b", test::kSamples) -= 2;
  EXPECT_TRUE(contains(broken(file), "every sample"));
}

TEST(Verify, RepeatedPairOnAPathIsFound) {
  FileBuilder file = good_file();
  file.node("x y x y");
  EXPECT_TRUE(contains(broken(file), "stands twice"));
}

TEST(Verify, PairsBelowDeeperMayRepeatThePathAbove) {
  FileBuilder file = good_file();
  file.node("x y [deeper] x y");
  EXPECT_TRUE(broken(file).empty());
  file.node("x y [deeper] x z");
  file.node("x y x y");
  EXPECT_TRUE(contains(broken(file), "stands twice"));
}

TEST(Verify, BackEdgeToTheWrongOccurrenceIsFound) {
  FileBuilder file;
  file.node("a b b c");
  file.back("a b b", "a b", 1);  // entered by a, not by b
  EXPECT_TRUE(contains(broken(file), "back edge"));
}

TEST(Verify, MisplacedTailEdgeIsFound) {
  FileBuilder file = good_file();
  file.tail("a b", "a b b", 1);
  EXPECT_TRUE(contains(broken(file), "tail edge"));
}

// A call that found no room is in a pair of caller and callee, and so is only one end of its edge.
TEST(Verify, TailEdgesFromAndToContextsWithoutRoomAreRight) {
  for (const std::string limit : {"[overflow]", "[deeper]"}) {
    FileBuilder file = good_file();
    file.calls("a b d", 2);
    file.calls(limit + " b e", 1);
    file.tail(limit + " b e", "a b d", 1);
    file.tail("a b d", limit + " b e", 1);
    EXPECT_EQ(broken(file), std::vector<std::string>{}) << limit;
    file.tail("a c", limit + " b e", 1);
    EXPECT_TRUE(contains(broken(file), "tail edge")) << limit;
  }
  FileBuilder file = good_file();
  file.tail("a b", "[overflow]", 1);
  EXPECT_EQ(broken(file), std::vector<std::string>{});
}

TEST(Verify, WrongDepthAndCountsAreFound) {
  FileBuilder file = good_file();
  file.record<format::Node>(file.node("a c"))->depth = 7;
  file.header().node_count += 20;
  EXPECT_TRUE(contains(broken(file), "one deeper"));
  EXPECT_TRUE(contains(broken(file), "header counts"));
}

TEST(Verify, TruncatedFileIsFound) {
  FileBuilder file = good_file();
  auto bytes = file.bytes();
  bytes.resize(bytes.size() - 32);
  auto image = FileImage::from_bytes(bytes, "f");
  ASSERT_TRUE(image.ok());
  EXPECT_FALSE(verify(*image, read_image(*image))[0].ok);
}

}  // namespace
}  // namespace fbleprof::profile
