#include "analysis/annotate.h"

#include <gtest/gtest.h>

#include "profile/builder.h"

namespace fbleprof::analysis {
namespace {

using namespace profile;

// f at [100, 200) of the program runs at 110 twice and in memcpy of libc; g calls it unhooked.
class AnnotateTest : public testing::Test {
 protected:
  AnnotateTest() {
    program_ = builder_.add_module({builder_.string("/bin/prog"), {}, 0});
    library_ = builder_.add_module({builder_.string("/lib/libc.so"), {}, 0});
    cpu_ = builder_.add_metric("cpu", "ns");
    const NodeId root = builder_.add_tree(builder_.named_function("[root]", FunctionKind::kRoot));
    f_ = native("f", 100);
    const NodeId f = builder_.child(root, f_);
    const NodeId g = builder_.child(root, native("g", 300));
    builder_.charge(f, cpu_, 7);
    const FunctionId at_110 = leaf(program_, "f", 110), at_120 = leaf(program_, "f", 120);
    builder_.charge(builder_.child(f, at_120), cpu_, 20);
    builder_.charge(builder_.child(f, at_110), cpu_, 10);
    builder_.charge(builder_.child(g, at_110), cpu_, 5);
    builder_.charge(builder_.child(f, leaf(library_, "memcpy", 40)), cpu_, 1);
    builder_.charge(builder_.child(f, leaf(library_, "memcpy", 50)), cpu_, 2);
    builder_.charge(builder_.child(f, leaf(library_, "strlen", 90)), cpu_, 4);
    builder_.charge(builder_.child(g, leaf(program_, "g", 310)), cpu_, 1000);
  }

  FunctionId native(const char* name, std::uint64_t address) {
    return builder_.add_function({.kind = FunctionKind::kNative,
                                  .module = program_,
                                  .address = address,
                                  .name = builder_.string(name),
                                  .size = 100});
  }
  FunctionId leaf(ModuleId module, const char* name, std::uint64_t address) {
    return builder_.add_function({.kind = FunctionKind::kInstruction,
                                  .module = module,
                                  .address = address,
                                  .name = builder_.string(name)});
  }

  Annotation result() {
    const Profile profile = builder_.build();
    const Costs costs(profile, *profile.find_metric("cpu"));
    const std::vector<Charge> all = charges(costs);
    const CodeRange range{program_, 100, 200};
    return Annotator(costs, all, {range}).annotate(range, {f_});
  }

  ProfileBuilder builder_;
  ModuleId program_, library_;
  MetricId cpu_;
  FunctionId f_;
};

TEST_F(AnnotateTest, AddressesOfTheRangeAreSummedInOrder) {
  const Annotation costs = result();
  ASSERT_EQ(costs.instructions.size(), 2u);
  EXPECT_EQ(costs.instructions[0].address, 110u);
  EXPECT_EQ(costs.instructions[0].cost, 15u);
  EXPECT_EQ(costs.instructions[1].cost, 20u);
  EXPECT_EQ(costs.in_code, 35u);
  EXPECT_EQ(costs.of_callers, 5u);
}

TEST_F(AnnotateTest, CodeWithoutHooksBelowIsListedByName) {
  const Annotation costs = result();
  ASSERT_EQ(costs.outside.size(), 2u);
  EXPECT_EQ(costs.outside[0].cost, 4u);
  EXPECT_EQ(costs.outside[1].cost, 3u);
}

TEST_F(AnnotateTest, ACallIsChargedToItsLine) {
  const NodeId root(0), f = builder_.child(root, f_), h = builder_.child(f, native("h", 500));
  builder_.charge(h, cpu_, 50);
  builder_.add_edge(f, h, EdgeKind::kTree, 3, 0, builder_.site(program_, 131));
  const Annotation costs = result();
  ASSERT_EQ(costs.instructions.size(), 3u);
  EXPECT_EQ(costs.instructions[2].address, 130u);
  EXPECT_EQ(costs.instructions[2].cost, 0u);
  EXPECT_EQ(costs.instructions[2].total, 50u);
  EXPECT_EQ(costs.total, 44u + 50u + 5u);
  EXPECT_EQ(costs.self(), 44u);
}

// qsort calls back: the call comes from no line of f.
TEST_F(AnnotateTest, WhatNoLineHasAddsUpToTheTotal) {
  const NodeId root(0), f = builder_.child(root, f_);
  const NodeId back = builder_.child(f, native("back", 500));
  builder_.charge(back, cpu_, 50);
  builder_.add_edge(f, back, EdgeKind::kTree, 3, 0, builder_.site(library_, 95));
  // What a block of f's own costs in f's code is on its lines.
  const NodeId block = builder_.child(f, builder_.named_function("block"));
  builder_.charge(builder_.child(block, leaf(program_, "f", 150)), cpu_, 9);
  builder_.charge(builder_.child(block, leaf(library_, "memcpy", 40)), cpu_, 3);
  const Annotation costs = result();
  EXPECT_EQ(costs.total, 44u + 50u + 9u + 3u + 5u);
  EXPECT_EQ(costs.elsewhere, 7u + 7u + 50u + 3u);
  EXPECT_EQ(costs.outside_or_unknown(), 14u);
  std::uint64_t lines = 0;
  for (const InstructionCost& at : costs.instructions) lines += at.total;
  EXPECT_EQ(lines + costs.elsewhere, costs.total);
}

TEST_F(AnnotateTest, WhatALineCallsIsNotElsewhere) {
  const NodeId root(0), f = builder_.child(root, f_), h = builder_.child(f, native("h", 500));
  builder_.charge(h, cpu_, 50);
  builder_.charge(builder_.child(h, f_), cpu_, 11);
  builder_.add_edge(f, h, EdgeKind::kTree, 3, 0, builder_.site(program_, 131));
  EXPECT_EQ(result().elsewhere, 14u);
}

TEST_F(AnnotateTest, PartsAddUpToTheSelfCost) {
  const Annotation costs = result();
  EXPECT_EQ(costs.without_address, 7u);
  EXPECT_EQ(costs.self(), 7u + 30u + 7u);
}

Charge sample(std::uint32_t address, std::uint64_t cost) {
  return {{}, address, cost, cost, address, address + 1};
}

TEST(LineRows, CalleesCountOnlyInTheTotal) {
  const Place call{"f", "a.c", 1};
  const auto rows = line_rows({sample(10, 1), {{}, 12, 0, 100, 20, 30}}, {{call}, {call}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].cost, 1u);
  EXPECT_EQ(rows[0].total, 101u);
}

TEST(LineRows, APathCountsOnceForALine) {
  const Place call{"f", "a.c", 1}, other{"f", "a.c", 2};
  // The call at 12 leads to the function again, which calls and runs there again.
  const auto rows = line_rows({{{}, 12, 0, 100, 20, 30}, {{}, 12, 0, 60, 22, 26}, sample(24, 5)},
                              {{call}, {call}, {other}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].total, 100u);
  EXPECT_EQ(rows[1].total, 5u);
}

TEST(LineRows, InlinedLinesAreBelowTheLineOfTheirCall) {
  const Place first{"f", "a.c", 1}, second{"f", "a.c", 2};
  const Place cheap{"g", "b.h", 8}, costly{"h", "b.h", 9};
  const auto rows = line_rows({sample(10, 1), sample(11, 2), sample(12, 4), sample(13, 8)},
                              {{second}, {second, cheap}, {second, costly}, {first}});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].place, first);
  EXPECT_EQ(rows[0].cost, 8u);
  EXPECT_EQ(rows[1].place, second);
  EXPECT_EQ(rows[1].cost, 7u);
  EXPECT_EQ(rows[1].own, 1u);
  EXPECT_EQ(rows[2].place, costly);
  EXPECT_EQ(rows[2].depth, 1u);
  EXPECT_EQ(rows[3].place, cheap);
}

TEST(LineRows, ALineInlinedTwiceHasTwoRows) {
  const Place call{"f", "a.c", 1}, inner{"g", "b.h", 8};
  const auto rows = line_rows({sample(10, 1), sample(20, 2)}, {{call, inner}, {call, inner}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].cost, 3u);
}

}  // namespace
}  // namespace fbleprof::analysis
