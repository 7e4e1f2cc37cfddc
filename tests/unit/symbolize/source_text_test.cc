#include "symbolize/source_text.h"

#include <gtest/gtest.h>

#include "build_sample.h"
#include "tests/support/text.h"

namespace fbleprof::symbolize {
namespace {

TEST(SourceText, LinesCountFromOne) {
  const Workshop shop;
  const SourceText text = SourceText::read(shop.write("a.c", "one\ntwo\r\n\nlast"), 0);
  EXPECT_EQ(text.count(), 4u);
  EXPECT_EQ(text.line(0), "");
  EXPECT_EQ(text.line(1), "one");
  EXPECT_EQ(text.line(2), "two");
  EXPECT_EQ(text.line(3), "");
  EXPECT_EQ(text.line(4), "last");
  EXPECT_EQ(text.line(5), "");
  EXPECT_EQ(text.note(), "");
}

TEST(SourceText, MissingFileGivesOnlyANote) {
  const SourceText text = SourceText::read("/nonexistent/a.c", 0);
  EXPECT_FALSE(text.available());
  EXPECT_TRUE(test::holds(text.note(), "not found"));
  EXPECT_EQ(text.line(1), "");
}

TEST(SourceText, DirectoriesAndPipesAreNotRead) {
  const Workshop shop;
  EXPECT_FALSE(SourceText::read(shop.path(""), 0).available());
  ASSERT_TRUE(shop.run("mkfifo pipe"));
  EXPECT_FALSE(SourceText::read(shop.path("pipe"), 0).available());
}

TEST(SourceText, FileNewerThanTheProfileGetsANote) {
  const Workshop shop;
  const SourceText text = SourceText::read(shop.write("a.c", "one\n"), 1);
  EXPECT_TRUE(text.available());
  EXPECT_TRUE(test::holds(text.note(), "changed since"));
}

}  // namespace
}  // namespace fbleprof::symbolize
