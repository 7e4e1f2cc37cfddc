#include "report/text/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "profile/builder.h"
#include "tests/support/shown.h"

namespace fbleprof::report {
namespace {

using namespace profile;

// main calls functions: (name, module, file, address) each.
struct Callee {
  const char *name, *module, *file;
  std::uint64_t address;
};

std::string self_text(const std::vector<Callee>& callees, std::size_t width = 100) {
  ProfileBuilder builder;
  const MetricId cpu = builder.add_metric("cpu", "ns");
  const NodeId root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  std::map<std::string, ModuleId> modules;
  std::uint64_t cost = 100;
  for (const Callee& callee : callees) {
    ModuleId& module = modules[callee.module];
    if (!module && callee.module[0] != 0)
      module = builder.add_module({builder.string(callee.module)});
    const FunctionId function =
        builder.add_function({.kind = module ? FunctionKind::kNative : FunctionKind::kBlock,
                              .module = module,
                              .address = callee.address,
                              .name = builder.string(callee.name),
                              .file = builder.string(callee.file)});
    builder.charge(builder.child(root, function), cpu, cost--);
  }
  const Profile profile = builder.build();
  return test::shown("self", profile, {.width = width});
}

// The last column of each row.
std::vector<std::string> names_in(const std::string& table) {
  std::vector<std::string> names;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blanks = line.rfind("  ");
    if (line.find("% ") != std::string::npos && line.find(" ns ") != std::string::npos) {
      names.push_back(line.substr(blanks + 2));
    }
  }
  return names;
}

using Texts = std::vector<std::string>;

TEST(Namesakes, FunctionsOfOneNameAreDistinguishedByModule) {
  EXPECT_EQ(names_in(self_text({{"helper", "/lib/libfoo.so", "", 16},
                                {"helper", "/lib/libbar.so", "", 16},
                                {"other", "/lib/libbar.so", "", 32}})),
            (Texts{"helper [libfoo.so]", "helper [libbar.so]", "other"}));
}

TEST(Namesakes, FunctionsOfOneModuleAreDistinguishedByFile) {
  EXPECT_EQ(names_in(self_text(
                {{"helper", "/bin/x", "/src/a.c", 16}, {"helper", "/bin/x", "/src/b.c", 32}})),
            (Texts{"helper [a.c]", "helper [b.c]"}));
}

TEST(Namesakes, OtherwiseFunctionsAreDistinguishedByAddress) {
  EXPECT_EQ(names_in(self_text({{"helper", "/bin/x", "", 16}, {"helper", "/bin/x", "", 32}})),
            (Texts{"helper [x+0x10]", "helper [x+0x20]"}));
}

TEST(Namesakes, FunctionsOfScriptsAreDistinguishedByAsMuchOfTheirPathsAsDiffers) {
  EXPECT_EQ(names_in(self_text({{"<module>", "", "/lib/json/__init__.py", 0},
                                {"<module>", "", "/lib/re/__init__.py", 0},
                                {"<module>", "", "/opt/re/__init__.py", 0},
                                {"<module>", "", "/lib/enum.py", 0}})),
            (Texts{"<module> [json/__init__.py:0]", "<module> [lib/re/__init__.py:0]",
                   "<module> [opt/re/__init__.py:0]", "<module> [enum.py:0]"}));
}

TEST(Namesakes, FunctionsWithoutAModuleAndAFileHaveNoSuffix) {
  EXPECT_EQ(
      names_in(self_text({{"f", "", "", 0}, {"f", "", "/lib/a.py", 0}, {"f", "", "a.py", 0}})),
      (Texts{"f", "f [lib/a.py:0]", "f [a.py:0]"}));
}

TEST(Namesakes, FunctionWithoutAModuleHasNoSuffix) {
  EXPECT_EQ(names_in(self_text({{"helper", "/bin/x", "", 16}, {"helper", "", "", 0}})),
            (Texts{"helper [x]", "helper"}));
}

TEST(Namesakes, NarrowTableShortensTheNameAndKeepsTheModule) {
  const Texts names = names_in(self_text({{"a_helper_of_a_very_long_name", "/lib/a.so", "", 16},
                                          {"a_helper_of_a_very_long_name", "/lib/b.so", "", 16}},
                                         70));
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].ends_with("[a.so]")) << names[0];
  EXPECT_TRUE(names[1].ends_with("[b.so]")) << names[1];
}

TEST(Namesakes, FunctionUniqueInOneTableHasNoSuffix) {
  const auto profile = test::profile_of("main a = 1\n");
  const FunctionId main = profile.nodes().function[1];
  EXPECT_EQ(report::Names(profile).marked({main, main}).fit(main, 0), "main");
}

TEST(Names, NamesMadeEqualByShorteningShowTheirDifference) {
  EXPECT_EQ(
      names_in(self_text({{"std::Table<std::pair<int, int>, A>::rehash(int)", "/bin/x", "", 16},
                          {"std::Table<std::pair<int, int>, B>::rehash(int)", "/bin/x", "", 32}},
                         72)),
      (Texts{"…::rehash(…) [A]", "…::rehash(…) [B]"}));
}

TEST(Names, NoTwoLinesAreTheSame) {
  std::vector<Callee> callees;
  std::vector<std::string> held;
  for (int i = 0; i < 30; ++i)
    held.push_back("f<" + std::string(60, 'x') + std::to_string(i) + ">()");
  for (int i = 0; i < 30; ++i) {
    callees.push_back({held[i].c_str(), "/bin/x", "", static_cast<std::uint64_t>(16 * i + 16)});
  }
  for (const std::size_t width : {60u, 66u, 70u, 80u, 120u}) {
    Texts names = names_in(self_text(callees, width));
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()), names.end()) << width;
  }
}

}  // namespace
}  // namespace fbleprof::report
