#include "transform/query.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/profile_builder.h"
#include "tests/support/text.h"
#include "transform/filter.h"
#include "transform/merge.h"

namespace fbleprof::transform {
namespace {

using test::profile_of;
using test::text_of;

// main calls parse, which calls lex and itself; eval calls lex through get; idle is separate.
constexpr std::string_view kTree =
    "main = 1\n"
    "main parse = 2\n"
    "main parse -> 10\n"
    "main parse lex = 40\n"
    "main parse lex -> 2000\n"
    "main eval = 10\n"
    "main eval -> 5\n"
    "main eval get lex = 7\n"
    "main eval get lex ~> main eval : 3\n"
    "idle = 40\n";

// The contexts that a query matches, as "a/b c".
std::string kept(const std::string& query, std::string_view text = kTree,
                 profile::Aggregation aggregation = profile::Aggregation::kSum) {
  const auto profile = merge(profile_of(text));
  const auto parsed = parse_query(query);
  if (!parsed) return parsed.error().line();
  profile::Metric metric = *profile.find_metric("cpu");
  metric.aggregation = aggregation;
  const auto set = evaluate(profile, *parsed, &metric);
  if (!set) return set.error().line();
  std::string found;
  std::vector<std::string> paths(profile.nodes().count());
  for (std::size_t n = 0; n < paths.size(); ++n) {
    const auto parent = profile.nodes().parent[n];
    if (!parent) continue;
    const std::string& above = paths[parent.index()];
    paths[n] =
        above + (above.empty() ? "" : "/") + display_name(profile, profile.nodes().function[n]);
    if ((*set)[n] != 0) found += (found.empty() ? "" : " ") + paths[n];
  }
  return found;
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Query, NameKeepsPathsThatContainIt) {
  EXPECT_EQ(kept("parse"), "main/parse main/parse/lex");
  EXPECT_EQ(kept("'parse'"), "main/parse main/parse/lex");
  EXPECT_EQ(kept("re:^l"), "main/parse/lex main/eval/get/lex");
}

TEST(Query, AndOrNotHaveTheUsualPrecedence) {
  EXPECT_EQ(kept("lex and not parse"), "main/eval/get/lex");
  EXPECT_EQ(kept("idle or lex and eval"), "main/eval/get/lex idle");
  EXPECT_EQ(kept("(idle or lex) and eval"), "main/eval/get/lex");
  EXPECT_EQ(kept("not (parse || eval) && !idle"), "main");
}

TEST(Query, AtMatchesOnlyTheFunctionItself) {
  EXPECT_EQ(kept("at(main)"), "main");
  EXPECT_EQ(kept("at(lex or get)"), "main/parse/lex main/eval/get main/eval/get/lex");
}

TEST(Query, FromAndToFollowCallsAndBackEdges) {
  EXPECT_EQ(kept("from(parse)"), "main/parse main/parse/lex");
  // The lex below eval leads back to eval.
  EXPECT_EQ(kept("from(get)"), "main/eval main/eval/get main/eval/get/lex");
  EXPECT_EQ(kept("to(parse)"), "main main/parse");
  EXPECT_EQ(kept("to(get)"), "main main/eval main/eval/get main/eval/get/lex");
}

TEST(Query, PredAndSuccMatchDirectCallersAndCallees) {
  EXPECT_EQ(kept("pred(lex)"), "main/parse main/eval/get");
  EXPECT_EQ(kept("pred(eval)"), "main main/eval/get/lex");
  EXPECT_EQ(kept("succ(main)"), "main/parse main/eval");
  EXPECT_EQ(kept("succ(lex)"), "main/eval");
  EXPECT_EQ(kept("succ(a)", "a b = 1\na c = 1\na b => a c : 2\n"), "a/b a/c");
  EXPECT_EQ(kept("succ(b)", "a b = 1\na c = 1\na b => a c : 2\n"), "a/c");
}

TEST(Query, PathsAreContiguousUnlessTheyHaveAGap) {
  EXPECT_EQ(kept("path(main, parse, lex)"), "main/parse/lex");
  EXPECT_EQ(kept("path(eval, lex)"), "");
  EXPECT_EQ(kept("path(eval .. lex)"), "main/eval/get/lex");
  EXPECT_EQ(kept("path(main..lex)"), "main/parse/lex main/eval/get/lex");
  EXPECT_EQ(kept("path(main, eval..lex)"), "main/eval/get/lex");
  EXPECT_EQ(kept("path(a,a)", "a = 1\na b a = 1\na a = 1\na a c = 1\n"), "a/a a/a/c");
}

TEST(Query, ThresholdsApplyToFunctionsAndTotalToContexts) {
  EXPECT_EQ(kept("self > 40%"), "main/parse/lex main/eval/get/lex");
  EXPECT_EQ(kept("self >= 40 ns"), "main/parse/lex main/eval/get/lex idle");
  EXPECT_EQ(kept("dominated >= 47 and not at(main)"), "main/parse/lex main/eval/get/lex");
  EXPECT_EQ(kept("calls > 1k"), "main/parse/lex main/eval/get/lex");
  EXPECT_EQ(kept("calls>5 and calls<100"), "main/parse main/eval");
  EXPECT_EQ(kept("total > 40%"), "main main/parse");
  EXPECT_EQ(kept("depth = 1"), "main idle");
}

TEST(Query, OfMaximaTheGreatestCounts) {
  const auto kept_of_maxima = [](const char* query) {
    return kept(query, kTree, profile::Aggregation::kMax);
  };
  EXPECT_EQ(kept_of_maxima("total > 40"), "");
  EXPECT_EQ(kept_of_maxima("total >= 100%"), "main main/parse main/parse/lex idle");
  EXPECT_EQ(kept_of_maxima("self > 40"), "");
  EXPECT_EQ(kept_of_maxima("dominated = 40 and from(idle)"), "idle");
}

TEST(Query, QuotedNamesCanContainOperators) {
  const std::string_view text = "f<int,long>(char) = 1\nself = 1\nstd::less<a> = 1\n";
  EXPECT_EQ(kept("\"f<int,long>(char)\"", text), "f<int,long>(char)");
  EXPECT_EQ(kept("self", text), "self");
  EXPECT_EQ(kept("std::less<a>", text), "std::less<a>");
  EXPECT_EQ(kept("re:\"^f<.*(char)\"", text), "f<int,long>(char)");
}

TEST(Query, ErrorsSayWhereWhatAndWhatToDo) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "query: at character 1: a name is missing at the end: as in --keep 'parse*'"},
      {"a and", "query: at character 6: a name is missing at the end: as in --keep 'parse*'"},
      {"(main", "query: at character 1: \"(\" is never closed: add a \")\""},
      {"main)", "query: at character 5: \")\" closes nothing: take it out, or quote the name"},
      {"f(int)",
       "query: at character 2: \"(\" after a name: quote a name that holds parentheses: "
       "\"f(int)\""},
      {"a b",
       "query: at character 3: \"b\" after the end of an expression: join expressions by "
       "and or or"},
      {"self > x",
       "query: at character 8: not a number: as in self > 1%, dominated >= 10ms, "
       "calls > 1000"},
      {"self > 1 lightyear",
       "query: at character 10: no unit \"lightyear\": there are %, ns, us, ms, s, min, B, KiB, "
       "MiB, GiB, k, M and G"},
      {"'main", "query: at character 1: a quote is never closed: add a '"},
      {"''", "query: at character 1: the name is empty: * matches every function"},
      {"and main",
       "query: at character 1: \"and\" where a name or \"(\" belongs: quote a "
       "function that is called so"},
      {"from(pars)",
       "query: at character 6: \"pars\" names no function of this profile: "
       "did you mean \"parse\"?"},
      {"lex or nosuch",
       "query: at character 8: \"nosuch\" names no function of this profile: "
       "see --self for the names"},
      {"re:(",
       "query: at character 4: \"(\" after a name: quote a name that holds parentheses: "
       "\"f(int)\""},
      {"self > 1 MiB",
       "query: at character 1: cpu is not measured in MiB: give a share (1%), a "
       "plain number, or another --metric"},
  };
  for (const auto& [query, line] : mistakes) EXPECT_EQ(kept(query), line) << query;
  const std::string number = ": as in self > 1%, dominated >= 10ms, calls > 1000";
  const std::pair<std::string, std::string> more[] = {
      {"(main(int))",
       "at character 6: \"(\" after a name: quote a name that holds parentheses: \"f(int)\""},
      {"(main parse)",
       "at character 7: \"parse)\" where \")\" or and/or belongs: quote a name that holds blanks "
       "or commas"},
      {"path(.. lex)", "at character 6: \"..\" before the first name: begin with a name"},
      {"path(a" + repeated(",a", 60) + ")",
       "at character 1: the path is too long: name at most 60 functions"},
      {"main, idle",
       "at character 5: \",\" after the end of an expression: join expressions by and or or"},
      {"main and ,",
       "at character 10: \",\" where a name belongs: a name, a glob, re:..., module:... or "
       "file:..."},
      {"main and or",
       "at character 10: \"or\" where a name or \"(\" belongs: quote a function that is called "
       "so"},
      {"self >", "at character 7: a number is missing" + number},
      {"self > 1.2.3", "at character 8: not a number" + number},
      {"self > " + repeated("9", 400), "at character 8: not a number" + number},
      {"depth < 2%", "at character 10: depth has no unit: as in depth < 10"},
      {"calls > 1 ms",
       "at character 11: calls are not counted in ms: as in calls > 1000, calls > 5k or calls > "
       "1%"},
  };
  for (const auto& [query, line] : more) EXPECT_EQ(kept(query), "query: " + line) << query;
}

TEST(Query, NegatedPatternWithoutMatchIsAccepted) {
  EXPECT_EQ(kept("not module:libc.so*"), kept("*"));
  EXPECT_EQ(kept("lex and not (nosuch or path(nosuch, lex))"), kept("lex"));
  EXPECT_TRUE(test::holds(kept("not lex and nosuch"), "names no function"));
}

TEST(Query, EverySignAndUnitMeansWhatItSays) {
  const std::string both = "main/parse/lex main/eval/get/lex";
  const std::pair<const char*, std::string> queries[] = {
      {"depth < 2", "main idle"},
      {"depth <= 1", "main idle"},
      {"depth == 1", "main idle"},
      {"depth != 1 and parse", "main/parse main/parse/lex"},
      {"depth >= 4", "main/eval/get/lex"},
      {"depth > 3", "main/eval/get/lex"},
      {"self >= 4_0 ns", both + " idle"},
      {"self >= 0.04us", both + " idle"},
      {"self >= 0.00004 ms", both + " idle"},
      {"self >= 0.00000004 s", both + " idle"},
      {"self >= 0.0000000006 min", both + " idle"},
      {"calls > 1k and calls < 1M and calls < 1G", both},
      {"calls > 90%", both},
      {"calls > 1000 or idle", both + " idle"},
      {"self > 45 and lex", both},
      {"self > 45 or idle", both + " idle"},
  };
  for (const auto& [query, contexts] : queries) EXPECT_EQ(kept(query), contexts) << query;
  // A function that calls itself is counted once a path.
  EXPECT_EQ(kept("dominated > 60%", "a b a = 5\nc = 5\n"), "");
  EXPECT_EQ(kept("dominated >= 50% and a", "a b a = 5\nc = 5\n"), "a a/b a/b/a");
}

TEST(Query, BlanksListsAndRepeatedOperatorsAreRead) {
  const std::string below = "main/parse main/parse/lex main/eval main/eval/get main/eval/get/lex";
  EXPECT_EQ(kept("\tlex\nand\rnot parse "), "main/eval/get/lex");
  EXPECT_EQ(kept("main && eval && get && lex"), "main/eval/get/lex");
  EXPECT_EQ(kept("idle || get or at(main)"), "main main/eval/get main/eval/get/lex idle");
  EXPECT_EQ(kept("from(parse, get)"), below);
  EXPECT_EQ(kept("from (parse, get, idle)"), below + " idle");
  EXPECT_EQ(kept("path(main, .., lex)"), "main/parse/lex main/eval/get/lex");
  EXPECT_EQ(kept("path(main, ..lex)"), "main/parse/lex main/eval/get/lex");
  EXPECT_EQ(kept("at(path(main, parse))"), "main/parse");
}

TEST(Query, WordsOfTheLanguageAreNamesWhereNoOperationFollows) {
  EXPECT_EQ(kept("at and not path", "at = 1\nat path = 1\n"), "at");
  EXPECT_EQ(kept("depth", "depth = 1\nb = 1\n"), "depth");
  EXPECT_EQ(kept("!=", "!= = 1\nb = 1\n"), "!=");
  EXPECT_EQ(kept("idle.", "idle. = 1\nidle.. = 1\n"), "idle.");
}

TEST(Query, ThresholdsWithoutAMetricHoldForNothing) {
  const auto profile = merge(profile_of(kTree));
  const auto outcome = [&](const char* query) -> std::string {
    const auto set = evaluate(profile, *parse_query(query), nullptr);
    if (!set) return set.error().line();
    return std::all_of(set->begin(), set->end(), [](int in) { return in == 0; }) ? "nothing"
                                                                                 : "something";
  };
  EXPECT_EQ(outcome("self > 0"), "nothing");
  EXPECT_EQ(outcome("total > 0"), "nothing");
  EXPECT_EQ(outcome("self > 1ms"),
            "query: at character 1: the metric is not measured in ms: give a share (1%), a plain "
            "number, or another --metric");
}

TEST(Query, AMistakeInsideAnOperationIsReported) {
  for (const char* query :
       {"at(nosuch)", "from(nosuch)", "to(nosuch)", "pred(nosuch)", "succ(nosuch)",
        "path(main, nosuch)", "nosuch or main", "main and nosuch and lex", "nosuch and lex"}) {
    EXPECT_TRUE(test::holds(kept(query), "\"nosuch\" names no function")) << query;
  }
  for (const char* query : {"re:'['", "not re:'['", "path(main, re:'[')", "not path(re:'[')"}) {
    EXPECT_TRUE(test::holds(kept(query), "query: at character ")) << query;
    EXPECT_TRUE(test::holds(kept(query), "[")) << query;
  }
}

TEST(Query, NestingIsLimited) {
  EXPECT_TRUE(test::holds(kept(std::string(100000, '(')), "nested too deep"));
  EXPECT_TRUE(test::holds(kept(std::string(100000, '!')), "nested too deep"));
}

TEST(Query, FilterKeepsContextsThatAllQueriesMatch) {
  Filter how;
  how.keep = {"lex", "not eval"};
  how.metric = "cpu";
  const auto result = filter(merge(profile_of(kTree)), how);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(text_of(result->profile), "[root]\n.main\n..parse\n...lex cpu=40 calls=2000\n");
}

}  // namespace
}  // namespace fbleprof::transform
