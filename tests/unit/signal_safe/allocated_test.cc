// What an allocation charges, and to which context, and what its end does, on a recorder without a
// program.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "signal_safe/allocation_calls.h"
#include "signal_safe/allocations.h"
#include "signal_safe/enter.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/poisson.h"
#include "tests/support/no_resources.h"
#include "tests/unit/signal_safe/recording.h"

namespace fbleprof {
namespace {

using signal_safe::AllocationMode;
using test::Recording;

std::uint64_t wall_now = 0;

signal_safe::Options with_allocations(AllocationMode mode) {
  signal_safe::Options options;
  options.allocations = mode;
  options.mappings = true;
  options.bytes_per_sample = 4096;
  options.row_bytes = signal_safe::kMemoryRowBytes;
  options.wait_words = signal_safe::kMemoryWords;
  return options;
}

class Allocated : public testing::Test, protected test::CallsOnStack {
 protected:
  explicit Allocated(AllocationMode mode = AllocationMode::kExact)
      : CallsOnStack(with_allocations(mode)) {
    wall_now = 1'000'000;
    recording.session.clocks.wall_ns = [] { return wall_now; };
    EXPECT_TRUE(recording.session.allocations.start(&recording.session.pages, true, true, 32));
    signal_safe::start_thread(*own, recording.session);
    recording.thread.allocations = own.get();
    know_the_stack();
    recording.attach();
  }
  // `function`, entered at `depth`, calls the allocator. Returns where its wrapper's frame is.
  std::uint64_t in(std::uint32_t function, std::uint64_t depth) {
    auto* frame = reinterpret_cast<std::uint64_t*>(frame_at(depth) - 32);
    frame[0] = 0;
    frame[1] = recording.code.site_in(function);
    return reinterpret_cast<std::uint64_t>(frame);
  }
  static const void* block(std::uint64_t number) {
    return reinterpret_cast<const void*>(0x500000 + 64 * number);
  }
  // A word of a function, over all contexts; of all functions if it is kAll.
  static constexpr std::uint32_t kAll = ~0u;
  std::uint64_t charged(std::uint32_t function, std::uint32_t word) {
    std::uint64_t sum = 0;
    for (const auto& node : recording.nodes()) {
      const format::Ref row = recording.tree().node_at(node.ref)->values;
      if (row == 0 || (function != kAll && node.function != function)) continue;
      sum += recording.session.arena.at<std::uint64_t>(row)[word];
    }
    return sum;
  }
  std::int64_t level() {
    signal_safe::flush_level(recording.thread);
    return recording.session.allocations.level.load();
  }

  std::unique_ptr<signal_safe::AllocationThread> own =
      std::make_unique<signal_safe::AllocationThread>();
};

TEST_F(Allocated, IsItsContexts) {
  call(0, 1, 1), call(1, 2, 2);
  for (std::uint64_t i = 0; i < 3; ++i) fbleprof_allocated(in(2, 2), block(i), 100);
  fbleprof_allocated(in(1, 1), block(3), 50);  // 2 has returned
  EXPECT_EQ(charged(2, signal_safe::kAllocations), 3u);
  EXPECT_EQ(charged(2, signal_safe::kAllocatedBytes), 300u);
  EXPECT_EQ(charged(1, signal_safe::kAllocatedBytes), 50u);
  EXPECT_EQ(level(), 350);
  fbleprof_freeing(block(0));
  fbleprof_freeing(block(0));  // it is in no table any more
  fbleprof_freeing(nullptr);
  EXPECT_EQ(charged(2, signal_safe::kFreesHere), 1u);
  EXPECT_EQ(charged(2, signal_safe::kFreedHereBytes), 100u);
  EXPECT_EQ(charged(2, signal_safe::kTemporary), 0u);
  fbleprof_allocated(in(2, 2), block(5), 10);
  fbleprof_freeing(block(5));
  EXPECT_EQ(charged(kAll, signal_safe::kTemporary), 1u) << "by the next call of the allocator";
  EXPECT_EQ(level(), 250);
}

TEST_F(Allocated, WithoutAThreadNothingIsRecorded) {
  call(0, 1, 1);
  const std::uint64_t frame = in(1, 1);
  fbleprof_hot = {};
  fbleprof_allocated(frame, block(0), 100);
  recording.attach();
  recording.thread.allocations = nullptr;
  fbleprof_allocated(frame, block(0), 100);
  signal_safe::flush_level(recording.thread);
  fbleprof_freeing(block(0));
  recording.thread.allocations = own.get();
  recording.session.recording.store(false);
  fbleprof_allocated(frame, block(0), 100);
  recording.session.recording.store(true);
  EXPECT_EQ(charged(kAll, signal_safe::kAllocations), 0u);
  EXPECT_EQ(level(), 0);
}

TEST_F(Allocated, ABlockThatAnotherThreadFreesIsTold) {
  call(0, 1, 1);
  fbleprof_allocated(in(1, 1), block(0), 100);
  fbleprof_allocated(in(1, 1), block(1), 200);
  own->number = 2;  // another thread
  fbleprof_freeing(block(0));
  EXPECT_EQ(charged(1, signal_safe::kFreesElsewhere), 1u);
  EXPECT_EQ(charged(1, signal_safe::kFreedElsewhereBytes), 100u);
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), 0u);
  EXPECT_EQ(level(), 200);
  recording.thread.allocations = nullptr;  // a thread that is not recorded
  fbleprof_freeing(block(1));
  EXPECT_EQ(charged(1, signal_safe::kFreedElsewhereBytes), 300u);
  EXPECT_EQ(recording.session.allocations.level.load(), 0);
  recording.thread.allocations = own.get();
  // More threads than numbers: nobody knows whose their blocks are.
  recording.session.allocations.threads.store(signal_safe::LiveBlocks::kOwners);
  signal_safe::start_thread(*own, recording.session);
  EXPECT_EQ(own->number, 0u);
  fbleprof_allocated(in(1, 1), block(2), 7);
  fbleprof_freeing(block(2));
  EXPECT_EQ(charged(1, signal_safe::kFreesElsewhere), 3u);
}

TEST_F(Allocated, ABlockThatReallocTakesIsFreedOrStays) {
  call(0, 1, 1);
  fbleprof_allocated(in(1, 1), block(0), 100);
  fbleprof_taken_block taken;
  fbleprof_take_block(block(0), &taken);
  fbleprof_put_block_back(block(0), &taken);
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), 0u);
  fbleprof_take_block(block(0), &taken);
  fbleprof_taken_was_freed(&taken);
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), 1u);
  for (const void* unknown : {static_cast<const void*>(nullptr), block(9)}) {
    fbleprof_take_block(unknown, &taken);
    fbleprof_put_block_back(unknown, &taken);
    fbleprof_taken_was_freed(&taken);
  }
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), 1u);
  EXPECT_EQ(level(), 0);
}

TEST_F(Allocated, AMappingCanBeUnmappedInParts) {
  call(0, 1, 1);
  fbleprof_mapped(in(1, 1), block(0), 8192);
  fbleprof_unmapping(block(0), 4096);
  EXPECT_EQ(charged(1, signal_safe::kFreedHereBytes), 4096u);
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), 0u) << "the rest is there";
  const auto* rest = static_cast<const char*>(block(0)) + 4096;
  fbleprof_unmapping(rest, 4096);
  EXPECT_EQ(charged(1, signal_safe::kFreedHereBytes), 8192u);
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), 1u);
  fbleprof_mapped(in(1, 1), block(0), 100);
  fbleprof_mapped(in(1, 1), block(0), 200);  // in its place
  EXPECT_EQ(level(), 200);
  recording.session.options.mappings = false;
  fbleprof_mapped(in(1, 1), block(8), 100);
  fbleprof_unmapping(block(0), 200);
  EXPECT_EQ(level(), 200);
}

TEST_F(Allocated, ALargeMappingLeavesNothing) {
  call(0, 1, 1);
  constexpr std::uint64_t kBytes = (40ull << 30) + 100, kPart = 4096;
  fbleprof_mapped(in(1, 1), block(0), kBytes);
  EXPECT_EQ(level(), 40ll << 30);
  fbleprof_unmapping(block(0), kPart);
  fbleprof_unmapping(static_cast<const char*>(block(0)) + kPart, kBytes - kPart);
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), 1u);
  EXPECT_EQ(charged(1, signal_safe::kFreedHereBytes), charged(1, signal_safe::kAllocatedBytes));
  EXPECT_EQ(level(), 0);
}

// Pages of memory that is mapped, from block(0) on.
class Mapped : public Allocated {
 protected:
  static const void* page(std::uint64_t number) {
    return static_cast<const char*>(block(0)) + number * kPage;
  }
  void map(std::uint64_t begin, std::uint64_t end) {
    fbleprof_mapped(in(1, 1), page(begin), (end - begin) * kPage);
  }
  static void unmap(std::uint64_t begin, std::uint64_t end) {
    fbleprof_unmapping(page(begin), (end - begin) * kPage);
  }
  void expect(std::int64_t live_pages, std::uint64_t allocations, std::uint64_t frees) {
    EXPECT_EQ(level(), live_pages * static_cast<std::int64_t>(kPage));
    EXPECT_EQ(charged(1, signal_safe::kAllocations), allocations);
    EXPECT_EQ(charged(1, signal_safe::kFreesHere), frees);
    EXPECT_EQ(charged(1, signal_safe::kAllocatedBytes) - charged(1, signal_safe::kFreedHereBytes),
              static_cast<std::uint64_t>(live_pages) * kPage);
  }
  static constexpr std::uint64_t kPage = 4096;
};

TEST_F(Mapped, AMappingEndsWithItsLastPart) {
  call(0, 1, 1);
  map(0, 16);
  unmap(12, 16);
  expect(12, 1, 0);
  unmap(0, 4);
  expect(8, 1, 0);
  unmap(4, 12);
  expect(0, 1, 1);
  unmap(0, 16);  // there is nothing left
  expect(0, 1, 1);
}

TEST_F(Mapped, BehindAHoleItIsAnother) {
  call(0, 1, 1);
  map(0, 16);
  unmap(4, 6);
  expect(14, 2, 0);
  unmap(0, 4);
  expect(10, 2, 1);
  unmap(6, 16);
  expect(0, 2, 2);
}

TEST_F(Mapped, NeighboursEndInOneCall) {
  call(0, 1, 1);
  map(0, 4), map(4, 8), map(12, 20);
  unmap(2, 16);
  expect(6, 3, 1);
  unmap(0, 64);
  expect(0, 3, 3);
}

TEST_F(Mapped, WhatReplacesAPartIsNotCountedTwice) {
  call(0, 1, 1);
  map(0, 16);
  map(4, 8);
  expect(16, 3, 0);
  unmap(0, 16);
  expect(0, 3, 3);
}

TEST_F(Mapped, NothingIsUnmappedThatTheKernelRefuses) {
  call(0, 1, 1);
  map(0, 4);
  unmap(0, 0);
  fbleprof_unmapping(page(0), ~0ull - 4096);
  expect(4, 1, 0);
}

TEST_F(Allocated, AMappingThatMovesIsTakenOutBefore) {
  call(0, 1, 1);
  fbleprof_mapped(in(1, 1), block(0), 8192);
  fbleprof_taken_block taken;
  fbleprof_take_mapping(block(0), &taken);
  fbleprof_put_block_back(block(0), &taken);
  EXPECT_EQ(charged(1, signal_safe::kFreedHereBytes), 0u) << "it did not move";
  fbleprof_take_mapping(block(0), &taken);
  fbleprof_mapped(in(1, 1), block(0), 300);  // another thread's, in the old place
  fbleprof_taken_was_unmapped(block(0), 8192, &taken);
  EXPECT_EQ(charged(1, signal_safe::kFreedHereBytes), 8192u);
  EXPECT_EQ(level(), 300);
  fbleprof_unmapping(block(0), 300);
  EXPECT_EQ(level(), 0);
}

TEST_F(Allocated, InTheMiddleOfAChangeItIsUnrecorded) {
  call(0, 1, 1);
  {
    const signal_safe::BusyGuard guard(recording.thread);
    fbleprof_allocated(in(1, 1), block(0), 100);
  }
  EXPECT_EQ(charged(kAll, signal_safe::kAllocations), 0u);
  EXPECT_EQ(charged(kAll, signal_safe::kUnrecorded), 1u);
}

TEST_F(Allocated, WhatIsKnownEndsWhenCodeIsUnloaded) {
  call(0, 1, 1);
  for (std::uint64_t i = 0; i < 2; ++i) fbleprof_allocated(in(1, 1), block(i), 100);
  recording.session.caches_emptied.fetch_add(1);
  for (std::uint64_t i = 2; i < 4; ++i) fbleprof_allocated(in(1, 1), block(i), 100);
  EXPECT_EQ(own->emptied, recording.session.caches_emptied.load());
  EXPECT_EQ(charged(1, signal_safe::kAllocatedBytes), 400u);
}

TEST_F(Allocated, OnAnotherStackItsEntriesAreNotRead) {
  call(0, 1, 1);
  alignas(8) std::uint64_t other[16] = {0, recording.code.site_in(1)};
  fbleprof_allocated(reinterpret_cast<std::uint64_t>(other), block(0), 100);
  recording.thread.main_stack.low = 0;  // bounds that are not known
  fbleprof_allocated(in(1, 1), block(1), 100);
  EXPECT_EQ(charged(kAll, signal_safe::kAllocatedBytes), 200u);
}

TEST_F(Allocated, OutsideOfTheStacksBoundsNoReturnAddressIsRead) {
  call(0, 1, 1);
  static std::uint64_t below[16];  // code on a stack that nobody told of
  below[1] = recording.code.site_in(1);
  fbleprof_allocated(reinterpret_cast<std::uint64_t>(below), block(0), 100);
  recording.thread.main_stack.high = frame_at(1);
  fbleprof_allocated(in(1, 1), block(1), 100);
  EXPECT_EQ(charged(kAll, signal_safe::kAllocatedBytes), 200u);
  for (const auto& known : own->known) EXPECT_EQ(known.word, 0u) << "nothing is remembered";
}

TEST_F(Allocated, WhatAnotherCallLeftInItsPlaceIsNotTaken) {
  call(0, 1, 1), call(1, 2, 2);
  fbleprof_allocated(in(2, 2), block(0), 100);
  signal_safe::KnownAllocation* known = nullptr;
  for (auto& one : own->known) {
    if (one.word != 0) known = &one;
  }
  ASSERT_NE(known, nullptr);
  const auto before = *known;
  std::uint64_t number = 1;
  const auto is_found_again = [&](auto change) {
    *known = before;
    known->node = 0;
    change(*known);
    fbleprof_allocated(in(2, 2), block(number++), 100);
    return known->node == before.node;
  };
  using Known = signal_safe::KnownAllocation;
  EXPECT_TRUE(is_found_again([](Known& one) { one.word ^= 1; }));
  EXPECT_TRUE(is_found_again([](Known& one) { one.site += 1; }));
  EXPECT_TRUE(is_found_again([](Known& one) { one.return_site += 1; }));
  EXPECT_TRUE(is_found_again([](Known& one) { one.distance += 8; }));
  EXPECT_TRUE(is_found_again([](Known& one) { one.below = ~one.word; }));
  EXPECT_EQ(charged(2, signal_safe::kAllocations), number);
}

// A callee with hooks that was left without its end: its entry is still the newest.
TEST_F(Allocated, InAFunctionWhoseEntryIsOlderIsTheFunctions) {
  call(0, 1, 1), call(1, 2, 2);
  fbleprof_allocated(in(1, 2), block(0), 100);
  EXPECT_EQ(charged(1, signal_safe::kAllocatedBytes), 100u);
  EXPECT_EQ(charged(2, signal_safe::kAllocatedBytes), 0u);
  recording.function(5);  // it has hooks, but no entry
  fbleprof_allocated(in(5, 2), block(1), 30);
  EXPECT_EQ(charged(2, signal_safe::kAllocatedBytes), 30u);
}

TEST_F(Allocated, ByAForkedChildIsItsOwn) {
  call(0, 1, 1);
  static signal_safe::AllocationThread* allocations;
  for (auto* each : {own.get(), static_cast<signal_safe::AllocationThread*>(nullptr)}) {
    allocations = each;
    recording.session.adopt_forked_child = [](signal_safe::ThreadState* thread) {
      thread->canary->alive = 1;
      thread->allocations = allocations;
    };
    recording.thread.canary->alive = 0;
    recording.thread.allocations = own.get();
    for (auto& one : own->known) one = {};
    fbleprof_allocated(in(1, 1), block(0), 100);
    EXPECT_EQ(charged(1, signal_safe::kAllocatedBytes), 100u) << "if the child records them";
  }
}

TEST_F(Allocated, WithoutSpaceInTheFileIsTheRoots) {
  constexpr std::uint32_t kFunctions = 300;
  for (std::uint32_t i = 1; i <= kFunctions; ++i) call(0, i, 1);
  auto& arena = recording.session.arena;
  for (const std::uint32_t bytes : {1u << 20, 4096u, 64u, 1u}) {
    const std::vector<char> filler(bytes, 'f');
    while (arena.add_string(filler.data(), bytes) != 0) continue;
  }
  for (std::uint32_t i = 1; i <= kFunctions; ++i) {
    call(0, i, 1);
    fbleprof_allocated(in(i, 1), block(i), 5'000'000);
  }
  fbleprof_allocated(in(kFunctions + 70, 1), block(0), 5'000'000);  // code that was never met
  EXPECT_EQ(charged(kAll, signal_safe::kAllocations), kFunctions + 1);
  EXPECT_GT(charged(recording.nodes().front().function, signal_safe::kAllocations), 0u)
      << "the root has those of contexts without a row";
  for (std::uint64_t i = 0; i <= kFunctions; ++i) fbleprof_freeing(block(i));
  EXPECT_EQ(charged(kAll, signal_safe::kFreesHere), kFunctions + 1);
  EXPECT_EQ(level(), 0);
}

TEST(AllocationsWithoutMemory, DoNotStart) {
  signal_safe::Pages pages;
  signal_safe::Allocations each, by_chance, none;
  bool starts[3];
  {
    const test::NoMemory no_memory;
    starts[0] = each.start(&pages, true, false, 32);
    starts[1] = by_chance.start(&pages, false, true, 32);
    starts[2] = none.start(&pages, false, false, 32);
  }
  EXPECT_FALSE(starts[0]);
  EXPECT_FALSE(starts[1]);
  EXPECT_TRUE(starts[2]) << "it needs none";
}

int adopted = 0;

TEST_F(Allocated, AForkedChildAsksForItsOwnProfile) {
  call(0, 1, 1);
  adopted = 0;
  recording.session.adopt_forked_child = [](signal_safe::ThreadState*) {
    ++adopted;
    fbleprof_hot = {};
  };
  recording.thread.canary->alive = 0;
  fbleprof_allocated(in(1, 1), block(0), 100);
  EXPECT_EQ(adopted, 1);
  EXPECT_EQ(charged(kAll, signal_safe::kAllocations), 0u);
}

TEST_F(Allocated, ThePeakIsKept) {
  call(0, 1, 1);
  for (std::uint64_t i = 0; i < 100; ++i) fbleprof_allocated(in(1, 1), block(i), 1'000'000);
  for (std::uint64_t i = 0; i < 100; ++i) fbleprof_freeing(block(i));
  EXPECT_EQ(level(), 0);
  int snapshots = 0;
  recording.session.arena.for_each(format::Kind::kSnapshot, [&](format::Ref ref) {
    snapshots += recording.session.arena.at<format::Snapshot>(ref)->is_complete;
    return true;
  });
  EXPECT_EQ(snapshots, 1) << "earlier ones are withdrawn";
  EXPECT_GT(recording.session.allocations.next_peak.load(), 90'000'000);
}

class SampledAllocations : public Allocated {
 protected:
  SampledAllocations() : Allocated(AllocationMode::kSampled) {}
};

TEST_F(SampledAllocations, StandForTheOthers) {
  call(0, 1, 1);
  constexpr std::uint64_t kBlocks = 20'000, kBytes = 512;
  for (std::uint64_t i = 0; i < kBlocks; ++i) fbleprof_allocated(in(1, 1), block(i), kBytes);
  const std::uint64_t samples = charged(kAll, signal_safe::kAllocationSamples);
  EXPECT_GT(samples, 2000u);
  EXPECT_LT(samples, 3000u);
  const auto bytes = static_cast<double>(charged(kAll, signal_safe::kAllocatedBytes));
  EXPECT_NEAR(bytes / (kBlocks * kBytes), 1, 0.15);
  // A sampled block that realloc takes, and puts back or frees.
  fbleprof_taken_block taken;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    fbleprof_take_block(block(i), &taken);
    fbleprof_put_block_back(block(i), &taken);
  }
  for (std::uint64_t i = 0; i < kBlocks / 2; ++i) {
    fbleprof_take_block(block(i), &taken);
    fbleprof_taken_was_freed(&taken);
  }
  for (std::uint64_t i = kBlocks / 2; i < kBlocks; ++i) fbleprof_freeing(block(i));
  EXPECT_EQ(charged(kAll, signal_safe::kFreesHere), charged(kAll, signal_safe::kAllocations));
  EXPECT_EQ(level(), 0);
}

TEST_F(SampledAllocations, OfAnySizeCostOneDraw) {
  call(0, 1, 1);
  own->random = 12345;
  std::uint64_t random = own->random;
  const std::uint64_t distance =
      signal_safe::draw_distance(&random, recording.session.options.bytes_per_sample);
  constexpr std::uint64_t kBytes = 1ull << 41;
  fbleprof_allocated(in(1, 1), block(0), kBytes);
  EXPECT_EQ(own->random, random);
  EXPECT_EQ(own->bytes_left, static_cast<std::int64_t>(distance) - 1);
  EXPECT_EQ(charged(1, signal_safe::kAllocations), 1u);
  EXPECT_EQ(charged(1, signal_safe::kAllocatedBytes), kBytes);
}

// In turn with small ones, whose chance would change if a large one moved the next sampled byte.
TEST_F(SampledAllocations, LargerThanThePeriodLeaveTheChancesOfOthers) {
  call(0, 1, 1);
  constexpr std::uint64_t kRounds = 20'000, kSmall = 64, kLarge = 20'000;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    fbleprof_allocated(in(1, 1), block(2 * i), kSmall);
    fbleprof_allocated(in(2, 1), block(2 * i + 1), kLarge);
  }
  const auto of = [&](std::uint32_t function, std::uint32_t word) {
    return static_cast<double>(charged(function, word));
  };
  EXPECT_NEAR(of(2, signal_safe::kAllocations) / kRounds, 1, 0.02);
  EXPECT_NEAR(of(2, signal_safe::kAllocatedBytes) / (kRounds * kLarge), 1, 0.02);
  // About 310 samples of small ones.
  EXPECT_NEAR(of(1, signal_safe::kAllocatedBytes) / (kRounds * kSmall), 1, 0.25);
}

TEST_F(SampledAllocations, OfMappingsEndWithTheirFirstPart) {
  call(0, 1, 1);
  fbleprof_mapped(in(1, 1), block(0), 100 << 20);
  ASSERT_EQ(charged(1, signal_safe::kAllocationSamples), 1u);
  fbleprof_unmapping(block(0), 4096);
  EXPECT_EQ(charged(1, signal_safe::kFreesHere), charged(1, signal_safe::kAllocations));
  EXPECT_EQ(level(), 0);
}

}  // namespace
}  // namespace fbleprof
