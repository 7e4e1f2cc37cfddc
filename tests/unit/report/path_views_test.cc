// The views of paths, recursion and the overview.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/compact_path.h"
#include "analysis/costs.h"
#include "report/text/escape.h"
#include "report/views/path_text.h"
#include "report/views/recursion.h"
#include "tests/support/shown.h"
#include "tests/support/text.h"

namespace fbleprof::report {
namespace {

using test::csv;
using test::profile_of;

constexpr std::string_view kText =
    "main -> 1\nmain even = 100\nmain even -> 10\nmain even odd = 200\nmain even odd -> 50\n"
    "main even odd even = 300\nmain even odd even -> 30\n"
    "main even odd even ~> main even odd : 20\nmain even odd leaf = 400\n"
    "main even odd leaf -> 7\nmain even odd even => main even odd leaf : 3\n";

std::string shown(std::string_view view, std::string value = {}, const Look& look = {},
                  std::string_view text = kText) {
  return test::shown(view, text, look, std::move(value));
}

TEST(PathText, RepetitionsHaveAStarAndTheMiddleIsElided) {
  const auto profile = profile_of("a b c b d e e f = 1\n");
  const Names names(profile);
  const auto path = analysis::path_to(profile, profile::NodeId(profile.nodes().count() - 1));
  EXPECT_EQ(path_text(names, path, 0), "a → (b → c)* → d → e* → f");
  EXPECT_EQ(path_text(names, path, 25), "a → (b → c)* → d → e* → f");
  EXPECT_EQ(path_text(names, path, 24), "a → … 2 more … → e* → f");
  EXPECT_EQ(raw_path(names, path), "a → b → c → b → d → e → e → f");
  for (std::size_t width = 1; width < 30; ++width) {
    EXPECT_LE(width_of(path_text(names, path, width)), width);
  }
}

TEST(PathText, SimilarPathsShowTheirDifference) {
  const auto profile =
      profile_of("m one b c d e f g h i leaf = 1\nm two b c d e f g h i leaf = 1\n");
  const auto end = [&](std::size_t node) {
    return analysis::path_to(profile, profile::NodeId(node));
  };
  const std::size_t last = profile.nodes().count() - 1;
  const auto texts = path_texts(Names(profile), {end(last / 2 + 1), end(last)}, 40);
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_TRUE(test::holds(texts[0], "one")) << texts[0];
  EXPECT_TRUE(test::holds(texts[1], "two")) << texts[1];
  for (const std::string& text : texts) EXPECT_LE(width_of(text), 40u);
}

TEST(PathText, NamesThatShorteningMakesEqualShowWhereTheyDiffer) {
  const std::string longest(30, 'x');
  const auto profile =
      profile_of("m f<" + longest + ",int>() = 1\nm f<" + longest + ",char>() = 1\n");
  std::vector<Path> paths;
  for (std::uint32_t n = 2; n < profile.nodes().count(); ++n) {
    paths.push_back(analysis::path_to(profile, profile::NodeId(n)));
  }
  ASSERT_EQ(paths.size(), 2u);
  const auto texts = path_texts(Names(profile), paths, 20);
  EXPECT_TRUE(test::holds(texts[0], "[int]")) << texts[0];
  EXPECT_TRUE(test::holds(texts[1], "[char]")) << texts[1];
}

TEST(PathText, ALongDistinguishingCycleKeepsTheLastName) {
  const auto profile = profile_of(
      "m a b c d e f g one a b c d e f g one leaf = 1\n"
      "m a b c d e f g two a b c d e f g two leaf = 1\n");
  std::vector<Path> paths;
  const profile::Nodes& nodes = profile.nodes();
  for (std::uint32_t n = 0; n < nodes.count(); ++n) {
    if (nodes.subtree_end[n] == n + 1) {
      paths.push_back(analysis::path_to(profile, profile::NodeId(n)));
    }
  }
  ASSERT_EQ(paths.size(), 2u);
  for (std::size_t width = 24; width < 60; ++width) {
    const auto texts = path_texts(Names(profile), paths, width);
    EXPECT_NE(texts[0], texts[1]);
    for (const std::string& text : texts) {
      EXPECT_TRUE(test::holds(text, "leaf")) << width << " " << text;
      EXPECT_LE(width_of(text), width);
    }
    if (width > 40) {
      EXPECT_TRUE(test::holds(texts[0], "one")) << texts[0];
      EXPECT_TRUE(test::holds(texts[1], "two")) << texts[1];
    }
  }
}

TEST(CliqueLabel, ShortNamesLeaveRoomForLongOnes) {
  constexpr const char* kLong = "a_name_that_is_forty_two_characters_long_x";
  const auto profile = profile_of(std::string("f ") + kLong + " f " + kLong + " = 1\n");
  analysis::Clique clique;
  clique.members.resize(2);
  const auto& function = profile.nodes().function;
  clique.members[0].function = function[1];
  clique.members[1].function = function[2];
  EXPECT_EQ(clique_label(Names(profile), clique, 60), std::string("(f, ") + kLong + ")*");
}

TEST(SequenceView, ShowsCallersAndCalleesOfEachStep) {
  constexpr const char* kSteps = "even,odd";
  EXPECT_EQ(shown("path", kSteps, csv()),
            "part,name,calls,cost,kind,cost_is_bound,calls_are_about,sampled\n"
            "step,even,40,1000,call,0,0,0\n"
            "step,odd,70,900,call,0,0,0\n"
            "in,main,50,900,call,0,0,0\n"
            "in,odd,20,0,call,0,0,0\n"
            "out,[self],0,200,self,0,0,0\n"
            "out,leaf,7,400,call,0,0,0\n"
            "out,even,30,300,call,1,0,0\n"
            "path,main → even → odd,70,900,context,0,0,0\n");
  const std::string text = shown("path", kSteps);
  EXPECT_TRUE(test::holds(text, "≥300 ns  ≥30.0%")) << text;
  EXPECT_TRUE(test::holds(text, "≥ at least"));
  EXPECT_TRUE(test::holds(text, "cpu 1.00 us in all"));
}

TEST(SequenceView, NamesCanContainCommasInBrackets) {
  constexpr const char* kSteps = "f<a,b>(c,d), g";
  EXPECT_TRUE(test::holds(shown("path", kSteps, csv(), "f<a,b>(c,d) g = 1\n"), "step,g,0,1,call"));
}

TEST(SequenceView, UnclosedBracketDoesNotProtectCommas) {
  constexpr const char* kSteps = "f<*,operator->, g";
  EXPECT_TRUE(
      test::holds(shown("path", kSteps, csv(), "f<a,b>(c) operator-> g = 1\n"), "step,g,0,1,call"));
}

TEST(SequenceView, SimilarNameIsSuggested) {
  constexpr const char* kSteps = "main,Spin";
  EXPECT_EQ(shown("path", kSteps, {}, "main geo::spin = 1\n"),
            "--path: \"Spin\" names no function of this profile: did you mean \"geo::spin\"?");
}

TEST(SequenceView, UnknownNameIsAnError) {
  constexpr const char* kSteps = "even,nope";
  EXPECT_EQ(shown("path", kSteps),
            "--path: \"nope\" names no function of this profile: see --self for the names; "
            "separate them by commas");
}

TEST(CliqueView, MembersAreListedBelowTheirClique) {
  EXPECT_EQ(shown("cliques", "whole"),
            "(odd, even)*\n"
            "1.00 us (100.0%)   self 600 ns (60.0%)   entered 10, 100 ns each\n"
            "mutual: 2 functions, depth ≥3; 100 calls inside, 10 an entry\n"
            "  self  own children      %  entered  inside  member\n"
            "200 ns        400 ns  60.0%               70  odd\n"
            "400 ns             0  40.0%       10      30  even\n"
            "\n"
            "the cost of a clique is the cost of the paths that enter it\n"
            "≥ at least: deeper recursion is folded\n"
            "cpu 1.00 us in all\n");
  EXPECT_EQ(shown("cliques", "whole", csv()),
            "clique,kind,name,recursion,members,cost,self,children,entry_cost,entries,inside_calls,"
            "depth,depth_is_bound\n"
            "0,clique,\"(odd, even)*\",mutual,2,1000,600,400,1000,10,100,3,1\n"
            "0,member,odd,mutual,1,600,200,400,0,0,70,3,1\n"
            "0,member,even,mutual,1,400,400,0,1000,10,30,3,1\n");
}

TEST(CliqueView, NoRecursionIsReported) {
  const std::string text = shown("cliques", "whole", {}, "a b = 1\n");
  EXPECT_TRUE(test::holds(text, "no recursion"));
}

TEST(CliqueContextView, CallsAreShownWithTheChainAboveThem) {
  EXPECT_EQ(shown("cliques", "context", csv()),
            "chain,caller,callee,calls,cost,kind\n"
            "main,main,even,10,1000,call\n"
            "\"main → (odd, even)*\",odd,leaf,7,400,call\n"
            "\"main → (odd, even)*\",even,odd,70,0,inside\n"
            "\"main → (odd, even)*\",odd,even,30,0,inside\n"
            "\"main → (odd, even)*\",even,leaf,3,0,tail\n");
}

TEST(HotView, EndsAtTheFirstFork) {
  EXPECT_EQ(shown("hot", {}, csv(), "m a b = 10\nm a b x = 30\nm a b y = 29\nm c = 5\n"),
            "part,depth,name,total,self,calls,total_is_bound,sampled\n"
            "path,1,m,74,0,0,0,0\n"
            "path,2,a,69,0,0,0,0\n"
            "path,3,b,69,10,0,0,0\n"
            "fork,4,x,30,30,0,0,0\n"
            "fork,4,y,29,29,0,0,0\n");
}

TEST(Overview, FitsAScreenWhateverTheProfile) {
  std::string text, path;
  for (int i = 0; i < 60; ++i) {
    path += "namespace::a_class_with_a_long_name<int>::function_" + std::to_string(i) + " ";
    text += path + "= 1000\n" + path + "-> 5\n";
    if (i % 3 == 0) text += path + "~> " + path + ": 4\n";
  }
  const auto profile = profile_of(text);
  const analysis::Costs costs(profile, *profile.find_metric("cpu"));
  Request request{.costs = costs, .runs = profile};
  request.total = costs.total();
  request.look.width = 80;
  for (int i = 0; i < 9; ++i) {
    request.warnings.push_back("a rather long line about something odd " + std::string(50, 'x'));
  }
  const std::string out = render(*find_view("overview")->show(request), request.look);
  EXPECT_LE(std::count(out.begin(), out.end(), '\n'), 24) << out;
  for (std::size_t begin = 0, end; (end = out.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    EXPECT_LE(width_of(out.substr(begin, end - begin)), 80u) << out;
  }
  EXPECT_TRUE(test::holds(out, "… 6 more (--summary)")) << out;
}

TEST(Overview, ReportsThatNothingWasLost) {
  const std::string out = shown("overview");
  EXPECT_TRUE(test::holds(out, "lost       nothing")) << out;
  EXPECT_TRUE(test::holds(out, "100.0%  mutual, depth ≥3: (odd, even)*")) << out;
}

}  // namespace
}  // namespace fbleprof::report
