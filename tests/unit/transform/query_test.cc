#include "transform/query.h"

#include <gtest/gtest.h>

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
std::string kept(const std::string& query, std::string_view text = kTree) {
  const auto profile = merge(profile_of(text));
  const auto parsed = parse_query(query);
  if (!parsed) return parsed.error().line();
  const auto set = evaluate(profile, *parsed, profile.find_metric("cpu"));
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
}

TEST(Query, NegatedPatternWithoutMatchIsAccepted) {
  EXPECT_EQ(kept("not module:libc.so*"), kept("*"));
  EXPECT_EQ(kept("lex and not (nosuch or path(nosuch, lex))"), kept("lex"));
  EXPECT_TRUE(test::holds(kept("not lex and nosuch"), "names no function"));
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
