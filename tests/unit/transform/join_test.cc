#include "transform/join.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "profile/reader.h"
#include "tests/support/file_builder.h"
#include "tests/support/profile_builder.h"
#include "tests/support/text.h"
#include "transform/merge.h"

namespace fbleprof::transform {
namespace {

using test::profile_of;
using test::text_of;

TEST(Join, RunsAreSummedByPath) {
  const auto joined = join({profile_of("a = 1\na b -> 2\n"), profile_of("a = 10\na c = 5\n")});
  EXPECT_EQ(joined.processes().size(), 2u);
  EXPECT_EQ(joined.trees()[1].process, profile::ProcessId(1));
  EXPECT_EQ(text_of(merge(joined)), "[root]\n.a cpu=11\n..b calls=2\n..c cpu=5\n");
}

TEST(Join, RunsLoadedAtDifferentAddressesAreMatchedByModule) {
  const auto run = [](std::uint64_t bias) {
    test::FileBuilder file;
    const auto module = file.module("/bin/x", bias, bias + 0x10000, bias, "id");
    file.native("f", bias + 0x1230, 8, module);
    file.charge("f", {.cpu_ns = 1});
    return profile::read_bytes(file.bytes(), "f")->profile;
  };
  const auto merged = merge(join({run(0x400000), run(0x555500000000)}));
  EXPECT_EQ(text_of(merged), "[root]\n.x+0x1230 cpu=2\n");
}

// As those of another profiler's files.
TEST(Join, CallsAtOneAddressOfNoModuleKeepTheirLines) {
  const auto run = [](const char* file, std::uint32_t line) {
    profile::ProfileBuilder builder;
    const profile::StringId name = builder.string(file);
    builder.site({}, 0x1100);
    const profile::Profile built = builder.build();
    auto sites = std::make_shared<profile::Sites>(built.sites());
    sites->file[0] = name;
    sites->line[0] = line;
    profile::Parts parts = built.parts();
    parts.sites = std::move(sites);
    return profile::Profile(std::move(parts));
  };
  const auto joined = join({run("one.c", 10), run("two.c", 20), run("one.c", 10)});
  ASSERT_EQ(joined.sites().count(), 2u);
  EXPECT_EQ(joined.text(joined.sites().file[0]), "one.c");
  EXPECT_EQ(joined.text(joined.sites().file[1]), "two.c");
}

TEST(Join, MetricMissingInOneRunIsZeroThere) {
  test::FileBuilder with;
  with.metric("allocated", "bytes", format::Role::kAmount, format::MetricPlace::kValues,
              test::kFirstFreeWord);
  with.value("a", test::kFirstFreeWord) = 100;
  const auto joined =
      join({profile_of("a = 1\n"), profile::read_bytes(with.bytes(), "f")->profile});
  const auto* allocated = joined.find_metric("allocated");
  ASSERT_NE(allocated, nullptr);
  EXPECT_EQ(allocated->value(profile::NodeId(1)), 0u);
  EXPECT_EQ(allocated->value(profile::NodeId(3)), 100u);
}

TEST(Join, SumsThatOverflowAreLimitedWithAWarning) {
  constexpr const char* kThird = "a = 6148914691236517206\na b -> 6148914691236517206\n";
  const auto joined =
      join({profile_of(kThird), profile_of(kThird), profile_of(kThird), profile_of("c = 1\n")});
  const auto merged = merge(joined);
  EXPECT_EQ(text_of(merged),
            "[root]\n.a cpu=18446744073709551615\n..b calls=18446744073709551615\n.c\n");
  ASSERT_EQ(joined.warnings().size(), 1u);
  EXPECT_TRUE(test::holds(joined.warnings()[0], "add up to more than 2^64 - 1"));
  for (const char* metric : {"cpu", "calls"}) {
    EXPECT_TRUE(test::holds(joined.warnings()[0], metric));
  }
}

}  // namespace
}  // namespace fbleprof::transform
