// The tree of contexts.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "analysis/costs.h"
#include "report/text/escape.h"
#include "tests/support/shown.h"
#include "tests/support/text.h"

namespace fbleprof::report {
namespace {

using test::profile_of;

// Without the lines above it.
std::string tree(std::string_view text, Look look = {.min_percent = 0.5}) {
  const std::string out = test::shown("tree", text, look);
  if (look.format != Format::kText) return out;
  return out.substr(out.find(" total    self"));
}

TEST(TreeView, ALongTreeHidesItsSmallestBranchesUntilItFitsAScreen) {
  std::string text = "main big = 500\n";
  for (int i = 0; i < 60; ++i) text += "main f" + std::to_string(i) + " = 15\n";
  const std::string whole = tree(text, {.min_percent = 1, .fits_screen = false});
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 64);
  const std::string fitting = tree(text, {.min_percent = 1});
  EXPECT_TRUE(test::holds(fitting, "… 60 more below 2%"));
  EXPECT_TRUE(test::holds(fitting, "--min, --all"));
  EXPECT_TRUE(test::holds(tree(text, {.all = true}), "f59"));
}

TEST(TreeView, NamesMadeEqualByShorteningShowTheirDifference) {
  const std::string out = tree(
      "main std::Table<std::pair<int,int>,Less>::rehash(int) = 60\n"
      "main std::Table<std::pair<int,int>,Greater>::rehash(int) = 40\n",
      {.width = 80, .min_percent = 0.5});
  EXPECT_TRUE(test::holds(out, "rehash(…) [Less]"));
  EXPECT_TRUE(test::holds(out, "rehash(…) [Greater]"));
}

TEST(TreeView, ContextsRecursionAndTailCalls) {
  EXPECT_EQ(tree("main = 100000000\n"
                 "main -> 1\n"
                 "main fib = 200000000\n"
                 "main fib -> 1\n"
                 "main fib fib = 600000000\n"
                 "main fib fib -> 1\n"
                 "main fib fib ~> main fib fib : 999998\n"
                 "main x = 60000000\n"
                 "main y = 40000000\n"
                 "main x => main y : 7\n"),
            " total    self       time          calls  context\n"
            "100.0%   10.0%     1.00 s              1  main\n"
            " 80.0%   20.0%     800 ms              1  ├─ fib\n"
            " 60.0%   60.0%     600 ms        999,999  │  └─ fib\n"
            "                                 999,998  │     └─ ↻ fib  (itself)\n"
            "  6.0%    6.0%    60.0 ms                 ├─ x\n"
            "                                       7  │  └─ ⇒ y\n"
            "  4.0%    4.0%    40.0 ms              7  └─ y\n"
            "cpu 1.00 s in all\n");
}

TEST(TreeView, CallsThatNobodyMadeAreNotShown) {
  const std::string text =
      "main f = 100\nmain f -> 1\nmain f ~> main f : 0\nmain g = 10\nmain f => main g : 0\n";
  EXPECT_FALSE(test::holds(tree(text), "↻"));
  EXPECT_FALSE(test::holds(tree(text), "⇒"));
  EXPECT_TRUE(test::holds(tree(text, {.all = true}), "⇒ g"));
}

TEST(TreeView, HiddenBranchesAndLongChainsAreReported) {
  const std::string text =
      "main a b c d e work = 9890\nmain a b x = 20\nmain t1 = 30\nmain t2 = 30\nmain t3 u = 30\n";
  EXPECT_EQ(
      tree(text),
      " total    self       time          calls  context\n"
      "100.0%            10.0 us                 main\n"
      " 99.1%            9.91 us                 ├─ a\n"
      " 99.1%            9.91 us                 │  └─ b → c → d → e\n"
      " 98.9%   98.9%    9.89 us                 │     └─ work\n"
      "  0.9%              90 ns                 └─ … 3 more below 0.5%\n"
      "cpu 10.0 us in all.  Hidden: 5 contexts below 0.5% (1.1% in all; --min, --all), 4 that "
      "only call the\nnext one, drawn as a → b (--all)\n");
  Look all{.min_percent = 0.5};
  all.all = true;
  const std::string whole = tree(text, all);
  for (const char* name : {"b", "c", "d", "e", "x", "work", "t1", "t2", "t3", "u"}) {
    EXPECT_TRUE(test::holds(whole, name)) << name;
  }
  EXPECT_FALSE(test::holds(whole, "Hidden"));
}

TEST(TreeView, ContextsWithoutCostAreReported) {
  const std::string text = tree("main a -> 3\nmain b -> 2\n");
  EXPECT_TRUE(test::holds(text, "cpu 0 in all.  Hidden: 3 contexts without any cpu (--all)\n"))
      << text;
}

TEST(TreeView, DepthLimitReportsHiddenContexts) {
  Look look{.min_percent = 0.5};
  look.depth = 2;
  const std::string text = tree("a b c = 5\na b d = 5\n", look);
  EXPECT_TRUE(test::holds(text, "└─ b"));
  EXPECT_TRUE(test::holds(text, "… 2 contexts further down"));
  EXPECT_FALSE(test::holds(text, "└─ c"));
}

// The calls that the drawing shows: a line "parent>child" for each, chains expanded.
std::vector<std::string> pairs_drawn(const std::string& drawing) {
  std::vector<std::string> pairs, above;  // `above`: by column of the branch, the last name there
  std::istringstream lines(drawing);
  std::string line;
  std::getline(lines, line);
  const std::size_t begin = line.find("context");
  while (std::getline(lines, line) && !line.starts_with("cpu")) {
    // After the figures, whose columns are all ASCII.
    std::string_view text = std::string_view(line).substr(begin);
    std::size_t level = 0;
    for (const std::string_view branch : {"│  ", "   ", "├─ ", "└─ "}) {
      EXPECT_EQ(width_of(branch), 3u);
    }
    for (bool is_branch = true; is_branch;) {
      is_branch = false;
      for (const std::string_view branch : {"│  ", "   ", "├─ ", "└─ "}) {
        if (!text.starts_with(branch)) continue;
        text.remove_prefix(branch.size());
        ++level;
        is_branch = true;
      }
    }
    above.resize(level);
    std::string caller = level == 0 ? "" : above.back();
    while (true) {
      const std::size_t arrow = text.find(" → ");
      const std::string name(text.substr(0, arrow));
      pairs.push_back(caller + ">" + name);
      caller = name;
      if (arrow == std::string_view::npos) break;
      text.remove_prefix(arrow + std::string_view(" → ").size());
    }
    above.push_back(caller);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

TEST(TreeView, LinesAreCalledByTheLineTheyHangFrom) {
  // Random trees of distinct names with many long chains.
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> paths{"n0"};
    std::vector<std::string> expected{">n0"};
    std::string text = "n0 = 1000000\n";
    for (int n = 1; n < 14; ++n) {
      const std::size_t from = random() % 4 == 0 ? random() % paths.size() : paths.size() - 1;
      const std::string name = "n" + std::to_string(n);
      expected.push_back(paths[from].substr(paths[from].rfind(' ') + 1) + ">" + name);
      paths.push_back(paths[from] + " " + name);
      text += paths.back() + (n == 13 || random() % 3 == 0 ? " = 1000000\n" : " = 1\n");
    }
    std::sort(expected.begin(), expected.end());
    Look look{.min_percent = 0};
    look.width = 0;
    EXPECT_EQ(pairs_drawn(tree(text, look)), expected) << text << tree(text, look);
    // Hidden branches do not change it either.
    look.min_percent = 1;
    for (const std::string& pair : pairs_drawn(tree(text, look))) {
      if (pair.find("…") != std::string::npos) continue;
      EXPECT_TRUE(std::binary_search(expected.begin(), expected.end(), pair))
          << pair << "\n"
          << text << tree(text, look);
    }
  }
}

TEST(TreeView, EveryLineFitsTheWidth) {
  std::string path, text;
  for (int i = 0; i < 60; ++i) {
    path += "a_function_with_a_rather_long_name_number_" + std::to_string(i) + " ";
    text += path + "= 1000\n";
  }
  for (const std::size_t width : {60u, 80u, 120u}) {
    Look look{.min_percent = 0.5};
    look.width = width;
    look.min_percent = 0;
    const std::string out = tree(text, look);
    for (std::size_t begin = 0, end; (end = out.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      EXPECT_LE(width_of(out.substr(begin, end - begin)), width) << out.substr(begin, end - begin);
    }
  }
}

TEST(TreeView, HostileNamesFillAtMostOneLine) {
  const std::string out = tree("evil\x1b[2J = 1\n");
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_TRUE(test::holds(out, "evil\\x1b[2J"));
}

TEST(TreeView, ColourIsUsedOnlyOnRequest) {
  Look look{.min_percent = 0.5};
  look.colour = true;
  EXPECT_TRUE(test::holds(tree("a = 1\n", look), "\x1b["));
  EXPECT_FALSE(test::holds(tree("a = 1\n"), "\x1b["));
}

TEST(TreeView, CsvHasAllNodesAndRawNumbers) {
  Look look{.min_percent = 0.5};
  look.format = Format::kCsv;
  EXPECT_EQ(tree("a b,c = 5\na b,c -> 2\na b,c ~> a : 3\n", look),
            "depth,name,total,self,calls,kind,sampled\n"
            "0,[root],5,0,0,node,0\n"
            "1,a,5,0,3,node,0\n"
            "2,\"b,c\",5,5,2,node,0\n"
            "3,a,,,3,back,0\n");
}

TEST(TreeView, CsvAndJsonHaveTheLimitsAndTheOrderThatAreAskedFor) {
  const char* const text = "b c d = 5\nb c d ~> b : 3\na = 95\na ~> a : 2\n";
  Look look{.min_percent = 0.5};
  look.format = Format::kCsv;
  look.depth = 2;
  look.sort = "name";
  EXPECT_EQ(tree(text, look),
            "depth,name,total,self,calls,kind,sampled\n"
            "0,[root],100,0,0,node,0\n"
            "1,a,95,95,2,node,0\n"
            "2,a,,,2,back,0\n"
            "1,b,5,0,3,node,0\n"
            "2,c,5,0,0,node,0\n");
  look = {.min_percent = 10, .min_for_programs = 10};
  look.format = Format::kJson;
  const std::string json = tree(text, look);
  EXPECT_EQ(json.substr(json.find("\"nodes\"")),
            "\"nodes\":[{\"name\":\"[root]\",\"parent\":null,\"total\":100,"
            "\"total_is_bound\":false,\"self\":0,\"calls\":0,\"sampled\":false},"
            "{\"name\":\"a\",\"parent\":0,\"total\":95,\"total_is_bound\":false,\"self\":95,"
            "\"calls\":2,\"sampled\":false}],"
            "\"edges\":[{\"from\":1,\"to\":1,\"kind\":\"back\",\"calls\":2,\"sampled\":false}]}\n");
  look.all = true;
  EXPECT_TRUE(test::holds(tree(text, look), "\"d\""));
}

TEST(TreeView, JsonNamesParentsAndEdges) {
  Look look{.min_percent = 0.5};
  look.format = Format::kJson;
  EXPECT_EQ(tree("a = 5\na -> 2\na ~> a : 3\n", look),
            "{\"schema\":\"fbleprof/1\",\"view\":\"tree\",\"metric\":\"cpu\","
            "\"unit\":\"ns\",\"total\":5,\"kept\":5,\"kept_is_bound\":false,\"nodes\":["
            "{\"name\":\"[root]\",\"parent\":null,\"total\":5,\"total_is_bound\":false,\"self\":0,"
            "\"calls\":0,\"sampled\":false},"
            "{\"name\":\"a\",\"parent\":0,\"total\":5,\"total_is_bound\":false,\"self\":5,"
            "\"calls\":5,\"sampled\":false}],"
            "\"edges\":[{\"from\":1,\"to\":1,\"kind\":\"back\",\"calls\":3,\"sampled\":false}]}\n");
}

TEST(TreeView, DeepTreesDoNotNeedADeepStack) {
  std::string path, text;
  for (int i = 0; i < 3000; ++i) path += "f" + std::to_string(i) + " ";
  text = path + "= 5\n";
  Look look{.min_percent = 0.5};
  look.all = true;
  EXPECT_TRUE(test::holds(tree(text, look), "f2999"));
}

}  // namespace
}  // namespace fbleprof::report
