#include "capture/filters.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "capture/profile.h"
#include "plan/file_stamp.h"
#include "plan/left_out_table.h"
#include "signal_safe/session.h"
#include "tests/support/no_resources.h"
#include "tests/support/refused_calls.h"
#include "tests/unit/capture/started_session.h"

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

// -- Tables of modules, which fble-prof-report makes before the program starts --

namespace fs = std::filesystem;
using signal_safe::LeftOut;
using signal_safe::session;

class FilteredModules : public test::StartedSession {
 protected:
  FilteredModules() {
    use("/nowhere/fble-prof-report");
    std::ofstream(library_) << "code";
  }
  ~FilteredModules() override {
    profile.settings = Settings();
    fs::remove_all(directory_);
  }
  void use(const char* tool) {
    profile.settings.filter = Text<4096>{"parse*"};
    profile.settings.filter_tool = Path{tool};
    profile.settings.filter_tables = Path{directory_.c_str()};
  }

  struct Table {
    bool first_is_out = true;
    std::vector<plan::LeftOutBoundary> boundaries = {{0x100, 0}, {0x200, 1}};
    std::string paths = std::string("/nowhere") + '\0';
    std::uint64_t stamp = plan::add_to_stamp(0, nullptr);
  };
  // Of the library, whose build-id is "id".
  std::string path_of_table() const {
    struct stat status {};
    EXPECT_EQ(stat(library_.c_str(), &status), 0);
    return directory_ + "/6964" + std::string(plan::FileMark(status, true).text, 17) + ".left";
  }
  void write(const Table& table) const {
    plan::LeftOutHeader header{};
    std::memcpy(header.magic, plan::kLeftOutMagic, sizeof header.magic);
    header.version = plan::kLeftOutVersion;
    header.count = static_cast<std::uint32_t>(table.boundaries.size());
    header.first_is_out = table.first_is_out;
    header.paths_bytes = static_cast<std::uint32_t>(table.paths.size());
    header.stamp = table.stamp;
    fs::remove(path_of_table());  // the recorder keeps the old one mapped
    std::ofstream out(path_of_table(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    out.write(reinterpret_cast<const char*>(table.boundaries.data()),
              static_cast<std::streamsize>(header.count * sizeof(plan::LeftOutBoundary)));
    out << table.paths;
    out.close();
    chmod(path_of_table().c_str(), 0600);
  }
  static const LeftOut::Table* table_of(const format::Module& module) {
    return session.code_map.left_out().newest_at(module.begin);
  }
  // Whether filtering adds a table.
  static bool is_added(const format::Module& module) {
    const LeftOut::Table* before = table_of(module);
    filter_new_modules();
    return table_of(module) != before;
  }
  static std::uint64_t new_place() {
    static std::uint64_t place = 0x7100'0000'0000;
    return place += 1 << 20;
  }
  format::Module& new_module() { return new_module(library_.c_str()); }
  format::Module& new_module(const char* path) { return add_module(new_place(), 4096, path, "id"); }

  std::string directory_ = [] {
    std::string name = testing::TempDir() + "/fbleprof-filters.XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
  std::string library_ = directory_ + "/library.so";
};

TEST_F(FilteredModules, LeaveOutWhatTheirTableSays) {
  write({});
  const auto& module = new_module();
  EXPECT_TRUE(lacks_table(module));
  EXPECT_TRUE(is_added(module));
  EXPECT_FALSE(lacks_table(module));
  const auto is_out = [&](std::uint64_t at) {
    return session.code_map.left_out().contains(module.begin + at);
  };
  EXPECT_TRUE(is_out(0xff));
  EXPECT_FALSE(is_out(0x100));
  EXPECT_TRUE(is_out(0x200));
  EXPECT_FALSE(is_added(module)) << "the same again";
}

TEST_F(FilteredModules, OnlyTheSameTableForTheSamePlaceIsKnown) {
  write({});
  auto& module = new_module();
  EXPECT_TRUE(is_added(module));
  module.end += 4096;
  EXPECT_TRUE(lacks_table(module));
  EXPECT_TRUE(is_added(module));
  module.load_bias -= 4096;
  EXPECT_TRUE(lacks_table(module));
  EXPECT_TRUE(is_added(module));
  Table table;
  table.boundaries.push_back({0x300, 0});
  write(table);
  EXPECT_TRUE(is_added(module));
  table.first_is_out = false;
  write(table);
  EXPECT_TRUE(is_added(module));
  table.boundaries[2].address = 0x308;
  write(table);
  EXPECT_TRUE(is_added(module));
  EXPECT_FALSE(is_added(module));
}

TEST_F(FilteredModules, WithoutAFileHaveNoTable) {
  write({});
  const auto& nameless = new_module("");
  auto& vdso = new_module("linux-vdso.so.1");
  vdso.flags |= format::kModuleIsVdso;
  filter_new_modules();
  for (const format::Module* each : {&nameless, static_cast<const format::Module*>(&vdso)}) {
    EXPECT_FALSE(lacks_table(*each));
    EXPECT_EQ(table_of(*each), nullptr);
  }
  profile.settings.filter = Text<4096>{};
  const auto& module = new_module();
  EXPECT_FALSE(lacks_table(module)) << "there is no filter";
  EXPECT_FALSE(is_added(module));
}

TEST_F(FilteredModules, WhoseTableCannotBeTrustedAreNotFiltered) {
  const auto& module = new_module();
  EXPECT_FALSE(is_added(module)) << "there is none";
  std::ofstream(path_of_table()).close();
  chmod(path_of_table().c_str(), 0600);
  EXPECT_FALSE(is_added(module)) << "an empty one";
  std::ofstream(path_of_table()) << std::string(100, 'x');
  EXPECT_FALSE(is_added(module)) << "another file";
  write({});
  chmod(path_of_table().c_str(), 0622);
  EXPECT_FALSE(is_added(module)) << "others may write to it";
  chmod(path_of_table().c_str(), 0600);
  const bool has_run =
      test::without_calls({{SYS_fstat, EIO}}, [&] { EXPECT_FALSE(is_added(module)); });
  if (has_run) {
    const test::NoMemory none;
    filter_new_modules();
  }
  EXPECT_EQ(table_of(module), nullptr);
  EXPECT_TRUE(is_added(module));
}

TEST_F(FilteredModules, NeedTheProgramThatReadsNames) {
  write({});
  use("");
  const auto& module = new_module();
  EXPECT_FALSE(is_added(module));
  EXPECT_FALSE(is_added(module)) << "said once";
  use("/nowhere/fble-prof-report");
  profile.settings.filter_tables = Path{};
  EXPECT_FALSE(has_filter_tool()) << "nobody says where tables are";
  EXPECT_FALSE(is_added(module));
}

TEST_F(FilteredModules, AllGetNewTablesSomeAtATime) {
  // The program that makes the tables writes down how many words it is given.
  const std::string tool = directory_ + "/tool", out = directory_ + "/out";
  std::ofstream(tool) << "#!/bin/sh\necho $# >> " << out << "\n";
  chmod(tool.c_str(), 0700);
  use(tool.c_str());
  const auto asked = [&] {
    fs::remove(out);
    filter_new_modules();
    std::vector<int> counts;
    std::ifstream in(out);
    for (int count; in >> count;) counts.push_back(count);
    return counts;
  };
  write({});
  new_module();
  EXPECT_EQ(asked(), std::vector<int>{}) << "its table is up to date";
  Table old;
  old.stamp += 1;
  write(old);
  const std::vector<int> once{4};  // the option, the filter, a table and its module
  EXPECT_EQ(asked(), once);
  add_module(new_place(), 4096, "/nowhere/gone.so");
  EXPECT_EQ(asked(), once) << "a file that is gone has no name for a table";
  for (int i = 0; i < 140; ++i) new_module();
  EXPECT_EQ(asked(), (std::vector<int>{2 + 2 * 128, 2 + 2 * 13}));
}

TEST_F(FilteredModules, AreLimitedInNumber) {
  static struct {
    plan::LeftOutHeader header{};
    plan::LeftOutBoundary boundary{};
    char paths[8] = "/a";
  } table;
  std::memcpy(table.header.magic, plan::kLeftOutMagic, sizeof table.header.magic);
  table.header.version = plan::kLeftOutVersion;
  table.header.count = 1;
  table.header.paths_bytes = sizeof table.paths;
  format::Module module{};
  int added = 0;
  while (added < 5000 && filter_by(module, reinterpret_cast<const char*>(&table), sizeof table)) {
    ++added;
  }
  EXPECT_GT(added, 500);
  EXPECT_LE(added, 1024);
  EXPECT_FALSE(is_added(new_module()));
}

}  // namespace
}  // namespace fbleprof::capture
