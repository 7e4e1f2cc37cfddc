#include "transform/filter.h"

#include <gtest/gtest.h>

#include "tests/support/profile_builder.h"
#include "transform/merge.h"
#include "transform/rebuild.h"

namespace fbleprof::transform {
namespace {

using test::profile_of;
using test::text_of;

std::string filtered(std::string_view text, const Filter& how) {
  auto result = filter(merge(profile_of(text)), how);
  return result ? text_of(result->profile) : result.error().line();
}

constexpr std::string_view kTree =
    "a = 1\n"
    "a b = 2\n"
    "a b c = 4\n"
    "a b c -> 7\n"
    "a c = 8\n"
    "d = 16\n";

TEST(Filter, SelectKeepsPathsThatContainAllNames) {
  EXPECT_EQ(filtered(kTree, {.select = {"c"}}), "[root]\n.a\n..b\n...c cpu=4 calls=7\n..c cpu=8\n");
  EXPECT_EQ(filtered(kTree, {.select = {"c", "b"}}), "[root]\n.a\n..b\n...c cpu=4 calls=7\n");
}

TEST(Filter, ExcludeDropsPathsThatContainAnyName) {
  EXPECT_EQ(filtered(kTree, {.exclude = {"c"}}), "[root]\n.a cpu=1\n..b cpu=2\n.d cpu=16\n");
  EXPECT_EQ(filtered(kTree, {.exclude = {"c", "d"}}), "[root]\n.a cpu=1\n..b cpu=2\n");
}

TEST(Filter, FoldChargesTheCostToTheCaller) {
  EXPECT_EQ(filtered(kTree, {.fold = {"b"}}), "[root]\n.a cpu=3\n..c cpu=12 calls=7\n.d cpu=16\n");
}

TEST(Filter, APathFoldedCompletelyIsChargedToFolded) {
  EXPECT_EQ(filtered(kTree, {.fold = {"a", "d"}}),
            "[root]\n.b cpu=2\n..c cpu=4 calls=7\n.c cpu=8\n.[folded] cpu=17\n");
}

TEST(Filter, SelectionLooksAtTheUnfoldedPath) {
  EXPECT_EQ(filtered(kTree, {.select = {"b"}, .fold = {"b"}}),
            "[root]\n.a cpu=2\n..c cpu=4 calls=7\n");
}

TEST(Filter, FoldedRecursionIsRecursionOfTheCaller) {
  EXPECT_EQ(filtered("a b = 1\na b ~> a : 5\na b ~> a b : 6\na b c -> 2\n", {.fold = {"b"}}),
            "[root]\n.a cpu=1 calls=5\n..c calls=2\na ~> a : 5\n");
}

TEST(Filter, RecursionThroughAFoldedFunctionStays) {
  // x calls b, which calls x.
  EXPECT_EQ(filtered("t b = 1\nt b x y = 2\nt b x -> 7\nt b x y ~> t b : 6\n", {.fold = {"b"}}),
            "[root]\n.t cpu=1\n..x calls=7\n...y cpu=2\nt x y ~> t x : 0\n");
  EXPECT_EQ(filtered("t b x = 2\nt b x -> 7\nt b x ~> t b : 6\n", {.fold = {"b"}}),
            "[root]\n.t\n..x cpu=2 calls=7\nt x ~> t x : 0\n");
}

TEST(Filter, TailCallOutOfAFoldedFunctionIsACallOfItsCaller) {
  EXPECT_EQ(filtered("a x = 1\na y = 2\na x => a y : 3\n", {.fold = {"x"}}),
            "[root]\n.a cpu=1\n..y cpu=2 calls=3\n");
}

TEST(Filter, RecursionAcrossTheSelectionIsABound) {
  const auto profile = merge(profile_of("a b = 1\na b ~> a : 5\na c = 1\n"));
  auto across = filter(profile, {.select = {"b"}});
  ASSERT_TRUE(across.ok());
  EXPECT_TRUE(across->is_bound);
  auto inside = filter(profile, {.select = {"a"}});
  ASSERT_TRUE(inside.ok());
  EXPECT_FALSE(inside->is_bound);
}

TEST(Filter, PatternWithoutMatchIsAnError) {
  EXPECT_EQ(filtered(kTree, {.select = {"nope"}}),
            "\"nope\" names no function of this profile: see --self for the names");
  EXPECT_EQ(filtered(kTree, {.exclude = {"nope"}}),
            "\"nope\" names no function of this profile: see --self for the names");
}

TEST(Filter, ExcludePatternWithoutMatchIsAccepted) {
  for (const char* pattern : {"module:libc.so*", "file:*.rs", "re:^std::", "nope*"}) {
    EXPECT_EQ(filtered(kTree, {.exclude = {pattern}}), filtered(kTree, {})) << pattern;
  }
}

TEST(Filter, FoldingKeepsTheTotal) {
  const auto profile = merge(profile_of(kTree));
  for (const char* fold : {"a", "b", "c", "d", "*"}) {
    auto result = filter(profile, {.fold = {fold}});
    ASSERT_TRUE(result.ok());
    std::uint64_t sum = 0;
    for (const auto value : result->profile.find_metric("cpu")->values->wide()) sum += value;
    EXPECT_EQ(sum, 31u) << fold;
  }
}

// Subtrees in which nothing is folded are copied. The result must equal that of rebuilding them.
TEST(Filter, CopiedSubtreesEqualRebuiltOnes) {
  std::string text;
  std::uint32_t random = 1;
  for (int path = 0; path < 300; ++path) {
    std::string names;
    for (int depth = 0; depth < 7; ++depth) {
      random = random * 1664525 + 1013904223;
      names += std::string(depth == 0 ? "" : " ") + static_cast<char>('a' + (random >> 24) % 6);
    }
    text += names + " = " + std::to_string(path + 1) + "\n" + names + " -> 3\n" + names + " ~> " +
            names.substr(0, 5) + " : 2\n";
  }
  const auto merged = merge(profile_of(text));
  const profile::Nodes& nodes = merged.nodes();
  Rebuilding how;
  how.root = nodes.function[0];
  for (const bool folds : {false, true}) {
    how.folded.assign(folds ? merged.functions().count() : 0, 0);
    if (folds) how.folded[test::function_called(merged, "c").index()] = 1;
    how.kept_own.assign(nodes.count(), 1);
    how.kept_subtree = how.kept_own;
    for (std::size_t n = 1; n < nodes.count(); ++n) {
      how.kept_subtree[n] = n % 17 != 0 && how.kept_subtree[nodes.parent[n].index()] != 0;
      how.kept_own[n] = how.kept_subtree[n] != 0 && n % 5 != 0;
    }
    how.paths_differ = false;
    const std::string dealt_out = text_of(rebuild(merged, how));
    how.paths_differ = true;
    EXPECT_EQ(text_of(rebuild(merged, how)), dealt_out);
  }
}

}  // namespace
}  // namespace fbleprof::transform
