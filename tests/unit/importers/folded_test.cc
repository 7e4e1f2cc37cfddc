#include "report/importers/folded.h"

#include <gtest/gtest.h>

#include "analysis/costs.h"
#include "tests/support/profile_builder.h"
#include "tests/support/text.h"

namespace fbleprof::importers {
namespace {

using namespace profile;

Result<Profile> parse(std::string_view text) {
  FoldedParser parser("f.txt");
  return parse_text(parser, text);
}

TEST(Folded, SameStacksAreSummed) {
  const auto profile = parse("main;a b;c 2\nmain;a b 3\r\n\nmain;a b;c 40");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  const Metric* samples = profile->find_metric("samples");
  EXPECT_EQ(profile->nodes().count(), 4u);
  EXPECT_EQ(samples->value(NodeId(3)), 42u);
  EXPECT_EQ(samples->value(NodeId(2)), 3u);
  EXPECT_TRUE(test::function_called(*profile, "a b").valid());
}

TEST(Folded, AStackOf20000FramesIsReadWhole) {
  std::string line = "main";
  for (int i = 1; i < 20000; ++i) line += i % 2 == 1 ? ";odd" : ";even";
  const auto profile = parse(line + " 7\n");
  ASSERT_TRUE(profile.ok()) << profile.error().line();
  EXPECT_EQ(profile->nodes().count(), 20001u);
  EXPECT_EQ(profile->find_metric("samples")->value(NodeId(20000)), 7u);
}

TEST(Folded, AComparisonOfTwoProfilesIsRefused) {
  EXPECT_EQ(parse("# difffolded.pl a b\nmain;f 12 13\nmain;f;g 0 5\nmain 1\t2 \n").error().line(),
            "f.txt: line 2: two numbers after the stack, and after every other: this looks like a "
            "comparison "
            "by difffolded.pl: name what it compares: fble-prof-report --diff BEFORE AFTER");
  EXPECT_FALSE(parse("main;f 12 13\nmain 1 2").ok());
  for (const char* text :
       {"main;worker 12 13", "thread 1 30\nthread 1;main 2", "12 13", "main;12 13",
        "main;f 0x12 13", "main;f 1;g 13", "main;operator() #2 13"}) {
    EXPECT_TRUE(parse(text).ok()) << text;
  }
  const auto profile = parse("thread 1 30\nthread 1;main 2");
  EXPECT_TRUE(test::function_called(*profile, "thread 1").valid());
}

TEST(Folded, DamageGivesOneLineWithItsPlace) {
  EXPECT_EQ(
      parse("a;b 1\na;b\n").error().line(),
      "f.txt: line 2: no number after the stack: folded stacks look like this: main;work;inner 12");
  EXPECT_TRUE(test::holds(parse("a;b 1.5\n").error().line(), "line 1: no whole number"));
  EXPECT_TRUE(test::holds(parse("a 99999999999999999999\n").error().line(), "beyond 64 bits"));
  EXPECT_FALSE(parse("\n").ok());
}

}  // namespace
}  // namespace fbleprof::importers
