#include "capture/filters.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "capture/profile.h"
#include "plan/left_out_table.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {
namespace {

class Filters : public testing::Test {
 protected:
  ~Filters() override { profile.settings = Settings(); }
  // As fble-prof sets it.
  static void use(const char* filter) {
    profile.settings.filter = Text<4096>{filter};
    profile.settings.filter_tool = Path{"/nowhere/fble-prof-report"};
    profile.settings.filter_tables = Path{"/nowhere"};
  }
};

TEST_F(Filters, WithoutAFilterNothingIsLeftOut) {
  EXPECT_FALSE(leaves_out("parse", "parse.py"));
  EXPECT_FALSE(has_filter_tool());
  profile.settings.filter = Text<4096>{"parse*"};
  EXPECT_FALSE(leaves_out("other", nullptr)) << "nobody makes tables for the other functions";
  use("parse*");
  EXPECT_TRUE(has_filter_tool());
}

TEST_F(Filters, TheLastPatternThatNamesAFunctionDecides) {
  use("parse*;!parse_debug;parse_debug_too");
  EXPECT_FALSE(leaves_out("parse", nullptr));
  EXPECT_TRUE(leaves_out("parse_debug", nullptr));
  EXPECT_FALSE(leaves_out("parse_debug_too", nullptr));
  EXPECT_TRUE(leaves_out("render", nullptr)) << "the first pattern says what is kept";
  use("!render");
  EXPECT_TRUE(leaves_out("render", nullptr));
  EXPECT_FALSE(leaves_out("parse", nullptr)) << "the first pattern says what is left out";
  EXPECT_FALSE(leaves_out(nullptr, nullptr));
}

TEST_F(Filters, FilesAreNamedByTheirPathOrTheirName) {
  use("!file:*.py");
  EXPECT_TRUE(leaves_out("f", "/lib/one.py"));
  EXPECT_FALSE(leaves_out("f", "/lib/one.lua"));
  EXPECT_FALSE(leaves_out("one.py", nullptr));
  use("!file:one.py");
  EXPECT_TRUE(leaves_out("f", "/lib/one.py"));
  EXPECT_TRUE(leaves_out("f", "one.py"));
  EXPECT_FALSE(leaves_out("f", "/lib/two.py"));
}

TEST_F(Filters, PatternsOfModulesAndExpressionsNameNoBlock) {
  use("!module:libc*;!re:.*");
  EXPECT_FALSE(leaves_out("libc", "libc"));
}

TEST_F(Filters, ADamagedTableIsRefused) {
  struct {
    plan::LeftOutHeader header{};
    plan::LeftOutBoundary boundary{};
    char paths[8] = "/a";
  } table;
  std::memcpy(table.header.magic, plan::kLeftOutMagic, sizeof table.header.magic);
  table.header.version = plan::kLeftOutVersion;
  table.header.count = 1;
  table.header.paths_bytes = sizeof table.paths;
  const format::Module module{};
  const auto is_taken = [&module](const auto& bytes, std::uint64_t size) {
    return filter_by(module, reinterpret_cast<const char*>(&bytes), size);
  };
  EXPECT_FALSE(filter_by(module, nullptr, 0));
  EXPECT_FALSE(is_taken(table, sizeof(plan::LeftOutHeader) - 1));
  EXPECT_FALSE(is_taken(table, sizeof table - 1)) << "cut";
  EXPECT_FALSE(is_taken(table, sizeof table + 1)) << "longer than it says";
  auto damaged = table;
  damaged.header.magic[0] ^= 1;
  EXPECT_FALSE(is_taken(damaged, sizeof damaged));
  damaged = table;
  damaged.header.version += 1;
  EXPECT_FALSE(is_taken(damaged, sizeof damaged));
  damaged = table;
  damaged.header.paths_bytes = 0;
  EXPECT_FALSE(is_taken(damaged, sizeof damaged));
  damaged = table;
  damaged.header.count = 1u << 31;
  EXPECT_FALSE(is_taken(damaged, sizeof damaged));
  std::memset(damaged.paths, 'a', sizeof damaged.paths);
  damaged.header.count = 1;
  EXPECT_FALSE(is_taken(damaged, sizeof damaged)) << "a path without its end";
}

}  // namespace
}  // namespace fbleprof::capture
