// Costs by line and instruction, of a library that the test compiles.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/cli/report.h"
#include "report/web/app.h"
#include "tests/support/file_builder.h"
#include "tests/support/text.h"

namespace fbleprof::report {
namespace {

using test::FileBuilder;
using test::holds;

class Silent : public Progress {
  void update(std::string_view, std::uint64_t, std::uint64_t) override {}
};

constexpr const char* kSource =
    "#include \"inlined.h\"\n"
    "__attribute__((noinline)) int leaf(int x) {\n"
    "\treturn x * 3;\n"
    "}\n"
    "\n"
    "__attribute__((noinline)) int work(int n) {\n"
    "  int sum = 0;\n"
    "  for (int i = 0; i < n; ++i) sum += scaled(i) ^ leaf(i);\n"
    "  return sum;\n"
    "}\n"
    "int caller(int n) { return work(n) + 1; }\n";
constexpr const char* kHeader =
    "static volatile int factor = 7;\n"
    "static inline int twice(int x) { return x * factor; }\n"
    "static inline int scaled(int x) { return twice(x) / (factor + 1); }\n";

class AnnotateView : public testing::Test {
 protected:
  static constexpr std::uint64_t kBias = 0x10000000;

  static void SetUpTestSuite() {
    std::string name = (std::filesystem::temp_directory_path() / "fbleprof-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    std::ofstream(directory_ / "code.c") << kSource;
    std::ofstream(directory_ / "inlined.h") << kHeader;
    ASSERT_EQ(
        std::system(("cd '" + directory_.string() +
                     "' && gcc -shared -fPIC -O1 -g -Wl,--build-id=0xabcd1234 code.c -o code.so && "
                     "nm -S code.so > names")
                        .c_str()),
        0);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(directory_); }
  std::string path(const char* name) const { return (directory_ / name).string(); }

  struct Range {
    std::uint64_t begin = 0, size = 0;
  };
  Range range_of(const std::string& name) const {
    std::ifstream names(path("names"));
    for (std::string line; std::getline(names, line);) {
      unsigned long begin = 0, size = 0;
      char type = 0, found[64] = "";
      if (std::sscanf(line.c_str(), "%lx %lx %c %63s", &begin, &size, &type, found) == 4 &&
          name == found) {
        return {begin, size};
      }
    }
    ADD_FAILURE() << name;
    return {};
  }

  // `with_leaves`: sampled addresses in all code, below work in other code, too.
  void write_profile(bool with_leaves) {
    FileBuilder file;
    const auto code =
        file.module(path("code.so"), kBias, kBias + 0x100000, kBias, "\xab\xcd\x12\x34");
    const auto other = file.module("/no/such/library", 0x50000000, 0x60000000, 0x50000000);
    const auto native = [&](const char* name) {
      const Range range = range_of(name);
      file.native(name, kBias + range.begin, static_cast<std::uint32_t>(range.size), code);
      return range;
    };
    const Range work = native("work"), leaf = native("leaf"), caller = native("caller");
    const auto charge = [&](const std::string& path, std::uint64_t address, format::Ref module,
                            std::uint64_t cost) {
      const std::string at = "@" + std::to_string(address);
      file.native(at, address, 0, module, format::FunctionKind::kInstruction);
      file.charge(path + " " + at, {.cpu_ns = cost});
    };
    file.calls("caller work", 5);
    file.calls("caller work leaf", 50);
    file.charge("caller work", {.cpu_ns = 30});  // at no known address
    if (with_leaves) {
      for (std::uint64_t at = 0; at < work.size; at += 2) {
        charge("caller work", kBias + work.begin + at, code, 100 + at);
      }
      charge("caller work leaf", kBias + leaf.begin + 1, code, 500);
      charge("caller", kBias + caller.begin, code, 20);
      for (std::uint64_t at = 0; at < 6; ++at) {
        charge("caller work", 0x50001000 + 64 * at, other, 200 + at);
      }
      // In work's code, but charged to its caller, which alone has a hook.
      charge("caller", kBias + work.begin + 3, code, 77);
    } else {
      file.charge("caller work leaf", {.cpu_ns = 500});
    }
    file.write(path("profile"));
  }

  std::string text(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fble-prof-report");
    arguments.push_back(path("profile"));
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    auto options = parse_options(static_cast<int>(argv.size()), argv.data());
    if (!options) return options.error().line();
    Silent progress;
    auto report = make_report(*options, progress);
    return report ? report->text : report.error().line();
  }

  static inline std::filesystem::path directory_;
};

TEST_F(AnnotateView, LinesAndInstructionsHaveTheirCosts) {
  write_profile(true);
  const std::string both = text({"--annotate", "work", "--width", "0"});
  for (const char* part :
       {"for (int i = 0; i < n; ++i) sum += scaled(i) ^ leaf(i);", "↳ scaled inlined.h:3",
        "↳ twice inlined.h:2", " in its own code, ", " in library+0x1140", ", … 2 more",
        "30 ns at no known address", "changed since the profile was recorded"}) {
    EXPECT_TRUE(holds(both, part));
  }
  const std::string lines = text({"--annotate", "work", "--source"});
  const std::string code = text({"--annotate", "work", "--asm"});
  EXPECT_FALSE(holds(lines, "%eax"));
  EXPECT_TRUE(holds(code, "%eax"));
  EXPECT_TRUE(holds(text({"--annotate", "leaf"}), "    return x * 3;"));
  EXPECT_TRUE(holds(text({"--annotate", "*", "--width", "50", "--top", "1"}), "more functions"));
  for (const char* format : {"csv", "json"}) {
    EXPECT_TRUE(holds(text({"--annotate", "work", "--format", format}), "scaled")) << format;
  }
}

// The last row has what no line has, so that rows add up to the total.
TEST_F(AnnotateView, WhatNoLineHasIsARow) {
  write_profile(true);
  std::uint64_t whole = 30 + 500 + 77;
  for (std::uint64_t at = 0; at < range_of("work").size; at += 2) whole += 100 + at;
  for (std::uint64_t at = 0; at < 6; ++at) whole += 200 + at;
  const std::string words = "(code without hooks that it called, and what that called; no known ";
  for (const bool are_lines : {true, false}) {
    const char* by = are_lines ? "--source" : "--asm";
    EXPECT_TRUE(holds(text({"--annotate", "work", by, "--width", "0"}), words)) << by;
    std::istringstream rows(text({"--annotate", "work", by, "--format", "csv"}));
    std::uint64_t total = 0;
    std::string row, last;
    for (std::getline(rows, row); std::getline(rows, row); last = row) {
      std::vector<std::string> cells;  // no name or path has a comma
      std::istringstream line(row);
      for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
      const bool is_inlined = are_lines && cells.at(0) != "0";
      if (!is_inlined) total += std::stoull(cells.at(are_lines ? 6 : 2));
    }
    EXPECT_TRUE(holds(last, words)) << by;
    EXPECT_EQ(total, whole) << by;
  }
  EXPECT_TRUE(holds(text({"--annotate", "work", "--format", "json"}), "\"elsewhere\":"));
  EXPECT_FALSE(holds(text({"--annotate", "leaf", "--width", "0"}), "code without hooks"));
}

// The code around an inlined function has its own name, whatever a sampled address is called.
TEST_F(AnnotateView, AnInlinedFunctionIsShownByLineAndWithTheFunctionAroundIt) {
  write_profile(true);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, std::vector<std::string>{"--inlines"}}) {
    std::vector<std::string> arguments = {"--annotate", "twice", "--width", "0"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const std::string shown = text(arguments);
    EXPECT_TRUE(holds(shown, "twice  (code.so, inlined into work)"));
    EXPECT_TRUE(holds(shown, "static inline int twice(int x) { return x * factor; }"));
    EXPECT_FALSE(holds(shown, "twice  (code.so 0x"));
    EXPECT_FALSE(holds(shown, "← twice code.c"));
  }
}

TEST_F(AnnotateView, WithoutSampledAddressesThereIsAReason) {
  write_profile(false);
  EXPECT_TRUE(holds(text({"--annotate", "work"}), "no sampled addresses were recorded"));
  EXPECT_TRUE(holds(text({"--annotate", "nosuch"}), "names no function"));
}

// The page shows the same, and says what the profile lacks.
TEST_F(AnnotateView, ThePageHasSourceAndInstructions) {
  struct NoControl : web::Control {
    std::vector<std::string> actions() const override { return {}; }
    Status run(const std::string&) override { return std::nullopt; }
  };
  const auto page = [&](const std::string& target) {
    Options what;
    what.view = &default_view();
    what.files = {path("profile")};
    web::Site site;
    site.files = what.files;
    web::App app(
        web::Access{"secret", "127.0.0.1", 80}, site,
        [what](const web::LoadRequest& request) {
          Silent silent;
          return load(what, request.needs, silent);
        },
        {}, std::function<Result<web::Base>()>(), std::make_unique<NoControl>());
    return app
        .answer({.method = "GET",
                 .target = target,
                 .host = "127.0.0.1:80",
                 .origin = {},
                 .cookie = "fbleprof_80=secret",
                 .fetch_site = {},
                 .accept = {},
                 .authorization = {}})
        .body;
  };
  write_profile(true);
  const std::string work = page("/source/work");
  for (const char* part : {"<tr class=inlined>", "↳ twice", "<details open>", "call",
                           "&lt;leaf@plt&gt;", "changed since the profile"}) {
    EXPECT_TRUE(holds(work, part));
  }
  EXPECT_TRUE(holds(work, "<td class=source>(code without hooks that it called, and what"));
  EXPECT_TRUE(holds(page("/source/twice"), "inlined into work"));
  write_profile(false);
  EXPECT_TRUE(holds(page("/source/work"), "--leaves"));
}

}  // namespace
}  // namespace fbleprof::report
