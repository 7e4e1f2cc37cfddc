#include "analysis/diff.h"

#include <gtest/gtest.h>

#include "profile/builder.h"
#include "tests/support/profile_builder.h"
#include "transform/baseline.h"
#include "transform/join.h"
#include "transform/merge.h"

namespace fbleprof::analysis {
namespace {

using namespace profile;

class DiffTest : public testing::Test {
 protected:
  DiffTest()
      : both_(transform::merge(transform::join(
            {test::profile_of("m a = 30\nm a -> 3\nm b = 10\nm new = 5\nm a ~> m : 1\n"),
             transform::as_baseline(
                 test::profile_of("m a = 10\nm a -> 2\nm b = 10\nm gone = 10\nm gone -> 7\n"))}))) {
  }

  Diff compare(bool normalize) const {
    return diff(both_, {.now = *both_.find_metric("cpu"),
                        .base = *both_.find_metric("base:cpu"),
                        .calls = both_.find_metric("calls"),
                        .base_calls = both_.find_metric("base:calls"),
                        .normalize = normalize});
  }
  FunctionChange of(const Diff& diff, std::string_view name) const {
    for (const FunctionChange& row : diff.functions) {
      if (row.function == test::function_called(both_, name)) return row;
    }
    return {};
  }

  Profile both_;
};

TEST_F(DiffTest, ContextsAndFunctionsHoldBothFigures) {
  const Diff diff = compare(false);
  EXPECT_EQ(diff.total.base, 30u);
  EXPECT_EQ(diff.total.now, 45u);
  EXPECT_EQ(of(diff, "a").self.base, 10u);
  EXPECT_EQ(of(diff, "a").self.now, 30u);
  EXPECT_EQ(of(diff, "m").dominated.base, 30u);
  EXPECT_EQ(of(diff, "m").dominated.now, 45u);
  EXPECT_TRUE(of(diff, "new").self.is_new());
  EXPECT_TRUE(of(diff, "gone").self.is_gone());
  EXPECT_EQ(diff.self.size(), both_.nodes().count());
}

TEST_F(DiffTest, CallsOfBothAreExact) {
  const Diff diff = compare(true);  // calls are not scaled
  EXPECT_EQ(of(diff, "a").calls.base, 2u);
  EXPECT_EQ(of(diff, "a").calls.now, 3u);
  EXPECT_EQ(of(diff, "gone").calls.base, 7u);
  EXPECT_EQ(of(diff, "gone").calls.now, 0u);
  EXPECT_EQ(of(diff, "m").calls.now, 1u);
}

TEST_F(DiffTest, BaseCanBeScaledToTheSameTotal) {
  const Diff diff = compare(true);
  EXPECT_EQ(of(diff, "a").self.base, 15u);
  EXPECT_EQ(of(diff, "m").dominated.base, 45u);
}

TEST_F(DiffTest, BaseOfAFilteredProfileIsScaledByTheWhole) {
  // What a filter kept may have changed more than the whole, which halved.
  const Diff diff = analysis::diff(both_, {.now = *both_.find_metric("cpu"),
                                           .base = *both_.find_metric("base:cpu"),
                                           .normalize = true,
                                           .whole_now = 60,
                                           .whole_base = 120});
  EXPECT_EQ(diff.total.base, 30u);
  EXPECT_EQ(of(diff, "a").self.base, 5u);
  EXPECT_EQ(of(diff, "m").dominated.base, 15u);
}

TEST_F(DiffTest, CostOfASetCountsAPathOnce) {
  std::vector<std::uint8_t> matches(both_.functions().count());
  matches[test::function_called(both_, "m").index()] = 1;
  matches[test::function_called(both_, "a").index()] = 1;
  const Metric& cpu = *both_.find_metric("cpu");
  EXPECT_EQ(cost_of(both_, cpu, matches, Extent::kDominated), 45u);
  EXPECT_EQ(cost_of(both_, cpu, matches, Extent::kSelf), 30u);
  EXPECT_EQ(cost_of(both_, cpu, {}, Extent::kSelf), 45u);
}

// Time in no known function is the root's own, and often only one of two runs has a sample of it.
TEST(Diff, RootsOwnTimeInOneRunLeavesTheOtherFunctionsAlone) {
  const std::string_view with = "= 2\nm a = 30\nm b = 10\n", without = "m a = 20\nm b = 5\n";
  for (const bool is_in_base : {true, false}) {
    const Profile both = transform::merge(
        transform::join({test::profile_of(is_in_base ? without : with),
                         transform::as_baseline(test::profile_of(is_in_base ? with : without))}));
    const Diff compared =
        diff(both, {.now = *both.find_metric("cpu"), .base = *both.find_metric("base:cpu")});
    const std::size_t with_root = 4;
    EXPECT_EQ(compared.functions.size(), with_root);
    for (const FunctionChange& row : compared.functions) {
      const std::string name = display_name(both, row.function);
      const std::uint64_t self_with = name == "a" ? 30 : name == "b" ? 10 : name == "m" ? 0 : 2;
      const std::uint64_t self_without = name == "a" ? 20 : name == "b" ? 5 : 0;
      EXPECT_EQ(row.self.base, is_in_base ? self_with : self_without) << name;
      EXPECT_EQ(row.self.now, is_in_base ? self_without : self_with) << name;
      if (name == "[root]") {
        EXPECT_EQ(row.dominated.base, is_in_base ? 42u : 25u);
        EXPECT_EQ(row.dominated.now, is_in_base ? 25u : 42u);
      }
    }
  }
}

TEST(Scaled, IsExactBeyond64Bits) {
  EXPECT_EQ(scaled(1ull << 63, 3, 6), 1ull << 62);
  EXPECT_EQ(scaled(7, 1, 2), 4u);
  EXPECT_EQ(scaled(7, 1, 0), 0u);
  EXPECT_EQ(scaled(1ull << 63, 8, 1), ~0ull);
}

constexpr std::uint64_t kMs = 1'000'000;

// A sample a millisecond, in both.
Noise sampled() {
  Noise noise;
  noise.is_sampled = true;
  noise.base_quantum = noise.now_quantum = kMs;
  return noise;
}

TEST(Noise, CountedMetricsHaveNoNoise) {
  EXPECT_FALSE(is_noise({}, {.base = 1000, .now = 1001}, {}, {}));
}

TEST(Noise, AFewMoreSamplesAreWithinChance) {
  const Noise noise = sampled();
  EXPECT_TRUE(is_noise(noise, {.base = 0, .now = kMs}, {}, {}));
  EXPECT_TRUE(is_noise(noise, {.base = 100 * kMs, .now = 130 * kMs}, {}, {}));
  EXPECT_FALSE(is_noise(noise, {.base = 100 * kMs, .now = 200 * kMs}, {}, {}));
  EXPECT_FALSE(is_noise(noise, {.base = 0, .now = 60 * kMs}, {}, {}));
}

// A comparison of figures that do not say what they count.
Diff uncounted(const std::string& base, const std::string& now) {
  const auto side = [](const std::string& text) {
    Parts parts = test::profile_of(text).parts();
    Metric& only = parts.metrics.front();
    only.unit = "count";
    only.role = Role::kAmount;
    return Profile(std::move(parts));
  };
  const Profile both =
      transform::merge(transform::join({side(now), transform::as_baseline(side(base))}));
  return diff(both, {.now = *both.find_metric("cpu"), .base = *both.find_metric("base:cpu")});
}

// The function whose own figure is now that.
Change self_now(const Diff& diff, std::uint64_t value) {
  for (const FunctionChange& row : diff.functions) {
    if (row.self.now == value) return row.self;
  }
  return {};
}

TEST(Noise, EachUnitIsASampleIfNothingIsSaid) {
  const Diff diff = uncounted("m a = 1000\nm b = 1000\n", "m a = 1030\nm b = 2000\n");
  EXPECT_TRUE(diff.noise.is_assumed);
  EXPECT_TRUE(diff.noise.is_sampled);
  EXPECT_TRUE(self_now(diff, 1030).is_noise);
  EXPECT_TRUE(self_now(diff, 2000).did_change());
}

TEST(Noise, EqualFiguresAreNoSamples) {
  const Diff diff = uncounted("m a = 1000\nm b = 300\n", "m a = 1000\nm b = 301\n");
  EXPECT_TRUE(diff.noise.is_assumed);
  EXPECT_FALSE(diff.noise.is_sampled);
  EXPECT_TRUE(self_now(diff, 301).did_change());
}

TEST(Noise, FewSamplesOfMuchTimeAreFewSamples) {
  Noise noise = sampled();
  const Change one_long{.base = 0, .now = 60 * kMs, .now_samples = 1};
  EXPECT_TRUE(is_noise(noise, one_long, {}, {}));
  const Change many{.base = 0, .now = 60 * kMs, .now_samples = 60};
  EXPECT_FALSE(is_noise(noise, many, {}, {}));
}

// A profile of functions with `count` samples of a millisecond each, `factor` percent of that in
// the second run.
Diff alike(std::uint64_t count, std::uint64_t percent) {
  const auto side = [](std::uint64_t samples) {
    profile::ProfileBuilder builder;
    const auto cpu = builder.add_metric("cpu", "ns", Role::kCpuTime);
    const auto counts = builder.add_metric("samples", "count", Role::kSamples);
    const auto root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
    for (const char* name : {"a", "b", "c", "d"}) {
      const auto node = builder.child(root, builder.named_function(name));
      builder.charge(node, cpu, samples * kMs);
      builder.charge(node, counts, samples);
    }
    return builder.build();
  };
  const Profile both = transform::merge(
      transform::join({side(count * percent / 100), transform::as_baseline(side(count))}));
  return diff(both, {.now = *both.find_metric("cpu"),
                     .base = *both.find_metric("base:cpu"),
                     .samples = both.find_metric("samples"),
                     .base_samples = both.find_metric("base:samples")});
}

TEST(Runs, MaximaOfSeveralRunsAreNotDivided) {
  profile::ProfileBuilder builder;
  const auto longest = builder.add_metric("longest", "ns", Aggregation::kMax);
  const auto waits = builder.add_metric("waits", "count", Role::kWaits);
  const auto root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
  const auto node = builder.child(root, builder.named_function("a"));
  builder.charge(node, longest, 50);
  builder.charge(node, waits, 6);
  const Profile one = builder.build();
  const std::vector<std::string> names = {"longest", "waits"};
  const Profile three =
      transform::join({transform::as_run(one, names, 1), transform::as_run(one, names, 2),
                       transform::as_run(one, names, 3)});
  const Profile both = transform::merge(transform::join({three, transform::as_baseline(one)}));
  for (const std::string& name : names) {
    const auto run = [&](std::size_t i) { return both.find_metric(transform::run_name(i, name)); };
    const Diff diff =
        analysis::diff(both, {.now = *both.find_metric(name),
                              .base = *both.find_metric(transform::baseline_name(name)),
                              .runs = {run(1), run(2), run(3)}});
    EXPECT_EQ(diff.total.base, one.find_metric(name)->value(NodeId(1)));
    EXPECT_FALSE(diff.total.did_change()) << name;
    for (const Change& change : diff.self) EXPECT_FALSE(change.did_change()) << name;
    for (const Change& change : diff.inclusive) EXPECT_FALSE(change.did_change()) << name;
    for (const FunctionChange& row : diff.functions) EXPECT_FALSE(row.self.did_change()) << name;
  }
}

// One call from each of four contexts in one of two runs: a mean of 2 calls, not of 4 or 0.
TEST(Runs, TheMeanOfAFunctionsCallsIsRoundedOnce) {
  const auto run = [](std::uint64_t calls) {
    profile::ProfileBuilder builder;
    const auto cpu = builder.add_metric("cpu", "ns", Role::kCpuTime);
    builder.add_metric("calls", "count", Role::kCalls);
    const auto root = builder.add_tree(builder.named_function("[root]", FunctionKind::kRoot));
    const auto rare = builder.named_function("rare");
    for (const char* name : {"a", "b", "c", "d"}) {
      const auto caller = builder.child(root, builder.named_function(name));
      builder.charge(caller, cpu, 1000);
      const auto node = builder.child(caller, rare);
      if (calls != 0) builder.add_edge(caller, node, profile::EdgeKind::kTree, calls);
    }
    return builder.build();
  };
  const std::vector<std::string> names = {"cpu"};
  const Profile now =
      transform::join({transform::as_run(run(1), names, 1), transform::as_run(run(0), names, 2)});
  const Profile base =
      transform::join({transform::as_run(run(0), names, 1), transform::as_run(run(0), names, 2)});
  const Profile both = transform::merge(transform::join({now, transform::as_baseline(base)}));
  const auto metric = [&](std::string_view name) { return both.find_metric(std::string(name)); };
  const Diff diff =
      analysis::diff(both, {.now = *metric("cpu"),
                            .base = *metric("base:cpu"),
                            .calls = both.find_metric(Role::kCalls),
                            .base_calls = both.find_baseline(Role::kCalls),
                            .base_runs = {metric("base:run 1:cpu"), metric("base:run 2:cpu")},
                            .runs = {metric("run 1:cpu"), metric("run 2:cpu")}});
  std::uint64_t calls = 0;
  for (const FunctionChange& row : diff.functions) calls += row.calls.now;
  EXPECT_EQ(calls, 2u);
}

TEST(Noise, OfFewSamplesNothingIsCommon) {
  const Diff diff = alike(40, 110);
  EXPECT_EQ(diff.noise.common, 1);
  EXPECT_TRUE(diff.total.is_noise);
  EXPECT_GT(diff.total_bound, static_cast<double>(diff.total.size()));
}

TEST(Noise, OfManySamplesWhatIsCommonIsTold) {
  const Diff diff = alike(4000, 110);
  EXPECT_NEAR(diff.noise.common, 1.1, 0.001);
  for (const FunctionChange& row : diff.functions) EXPECT_TRUE(row.self.is_noise);
}

TEST(Noise, WhatDiffersFromRunToRunDidNotChange) {
  Noise noise = sampled();
  noise.base_runs = noise.now_runs = 3;
  const Change change{.base = 10000 * kMs, .now = 11000 * kMs};
  EXPECT_FALSE(is_noise(noise, change, {9990 * kMs, 10000 * kMs, 10010 * kMs},
                        {10990 * kMs, 11000 * kMs, 11010 * kMs}));
  EXPECT_TRUE(is_noise(noise, change, {9000 * kMs, 10000 * kMs, 11000 * kMs},
                       {10000 * kMs, 11000 * kMs, 12000 * kMs}));
  // Or where the whole runs differ as much.
  noise.base_spread = noise.now_spread = 0.05;
  EXPECT_TRUE(is_noise(noise, change, {9990 * kMs, 10000 * kMs, 10010 * kMs},
                       {10990 * kMs, 11000 * kMs, 11010 * kMs}));
}

TEST(Noise, AChangeOfAllFunctionsIsAttributedToTheMachine) {
  Noise noise = sampled();
  const Change change{.base = 10000 * kMs, .now = 11000 * kMs};
  EXPECT_FALSE(is_noise(noise, change, {}, {}));
  noise.common = 1.1;
  EXPECT_TRUE(is_noise(noise, change, {}, {}));
}

}  // namespace
}  // namespace fbleprof::analysis
