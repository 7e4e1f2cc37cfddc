// What the server keeps of a profile. What pages with lists take from the source equals what the
// filtered profile says itself.
#include "report/web/profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "analysis/pair_table.h"
#include "tests/support/profile_builder.h"
#include "transform/merge.h"

namespace fbleprof::web {
namespace {

using namespace profile;

// Paths of a few functions, with back edges among them.
Profile random_profile(unsigned seed) {
  return transform::merge(test::profile_of(test::random_paths(seed, 300, 18, 7)));
}

using Pair = std::tuple<FunctionId, FunctionId, bool, std::uint64_t, std::uint64_t, bool, bool>;

std::vector<Pair> sorted(const std::vector<analysis::PairRow>& rows) {
  std::vector<Pair> pairs;
  for (const auto& row : rows) {
    pairs.emplace_back(row.caller, row.callee, row.is_tail, row.calls, row.cost, row.cost_is_bound,
                       row.by_tail_call);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

TEST(Profiles, ListsKeepThePairsOfTheSource) {
  const std::vector<std::vector<Listed>> all_lists{
      {{Listed::List::kExclude, "b"}},
      {{Listed::List::kSelect, "c"}},
      {{Listed::List::kFold, "a"}},
      {{Listed::List::kFold, "d"}, {Listed::List::kFold, "e"}, {Listed::List::kExclude, "f"}},
      {{Listed::List::kFold, "main"}}};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Profiles profiles([&](const LoadRequest&) -> Result<report::Loaded> {
      report::Loaded loaded;
      loaded.profile = loaded.runs = random_profile(seed);
      loaded.metric = "cpu";
      return loaded;
    });
    for (const auto& lists : all_lists) {
      Query query;
      query.lists = lists;
      const auto data = profiles.data(query, {});
      ASSERT_TRUE(data) << data.error().line();
      // Without the pairs of the source.
      const analysis::Costs costs((*data)->profile(), (*data)->metric());
      EXPECT_EQ(sorted((*data)->costs().tables().pairs()), sorted(costs.tables().pairs())) << seed;
      const auto &found = (*data)->costs().tables().cliques().cliques,
                 &expected = costs.tables().cliques().cliques;
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t c = 0; c < found.size(); ++c) {
        EXPECT_EQ(found[c].cost, expected[c].cost);
        EXPECT_EQ(found[c].inside_calls, expected[c].inside_calls);
        EXPECT_EQ(found[c].members.size(), expected[c].members.size());
      }
    }
  }
}

TEST(Profiles, WhatIsNewIsANewGeneration) {
  std::vector<transform::Moment> moments;
  Profiles profiles([&](const LoadRequest&) -> Result<report::Loaded> {
    report::Loaded loaded;
    loaded.profile = loaded.runs = random_profile(1);
    loaded.metric = "cpu";
    loaded.moments = moments;
    return loaded;
  });
  const auto is_new = [&](bool is_replaced) {
    const std::uint64_t before = profiles.generation();
    profiles.refresh(is_replaced);
    return profiles.generation() != before;
  };
  EXPECT_FALSE(is_new(false));
  EXPECT_TRUE(is_new(true));
  // Snapshots of a program that sleeps: it adds nothing.
  moments.push_back({.file = {}, .name = "a", .number = 1, .time_ns = 10, .totals = {}});
  EXPECT_TRUE(is_new(false));
  EXPECT_FALSE(is_new(false));
  // The newest is kept instead of another.
  moments = {{.file = {}, .name = "a", .number = 2, .time_ns = 20, .totals = {}}};
  EXPECT_TRUE(is_new(false));
}

TEST(Source, FunctionThatListsAddHasNoId) {
  report::Loaded loaded;
  loaded.profile = test::profile_of("a b = 5\n");
  const auto source = make_source(std::move(loaded), 0);
  const std::size_t count = source->loaded.profile.functions().count();
  EXPECT_NE(source->stable_id(FunctionId(count - 1)), 0u);
  EXPECT_EQ(source->stable_id(FunctionId(count)), 0u);
}

}  // namespace
}  // namespace fbleprof::web
