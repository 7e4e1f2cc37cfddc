#include "signal_safe/elapsed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace fbleprof::signal_safe {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A thread with an event each millisecond, whose clocks are moved by hand.
class ElapsedTest : public testing::Test {
 protected:
  void SetUp() override { thread_->event_period_ns = kMs; }

  // A sample after `ns` more on both clocks, in `context`; what it is charged with.
  std::uint64_t after(std::uint64_t ns, Sampled what, format::Ref context = 1) {
    now_ += ns;
    const Elapsed elapsed = take_elapsed(*thread_, what, now_, now_);
    EXPECT_EQ(elapsed.cpu_ns, elapsed.wall_ns);
    charged_ += elapsed.cpu_ns;
    put_aside(*thread_, {elapsed.in_kernel_ns, context}, [&](KernelTime::Part part) {
      charged_ += part.ns;
      late_[part.context] += part.ns;
    });
    EXPECT_EQ(charged_ + aside(), thread_->last_cpu_ns);
    EXPECT_LE(thread_->last_cpu_ns, now_);
    return elapsed.cpu_ns;
  }
  std::uint64_t aside() const { return thread_->kernel_time.total_ns(); }

  std::unique_ptr<ThreadState> thread_ = std::make_unique<ThreadState>();
  std::uint64_t now_ = 0, charged_ = 0;
  std::map<format::Ref, std::uint64_t> late_;  // charged as parts, by context
};

TEST_F(ElapsedTest, SampleInTimeIsChargedWhole) {
  EXPECT_EQ(after(kMs, Sampled::kUser), kMs);
  EXPECT_EQ(after(kMs + kMs / 4, Sampled::kUser), kMs + kMs / 4);
  EXPECT_EQ(aside(), 0U);
}

TEST_F(ElapsedTest, LateSampleIsChargedOnePeriodAndTheNextSystemCallTheRest) {
  EXPECT_EQ(after(5 * kMs, Sampled::kUser), kMs);
  EXPECT_EQ(aside(), 4 * kMs);
  EXPECT_EQ(after(kMs, Sampled::kUser), kMs);
  EXPECT_EQ(after(kMs / 2, Sampled::kSystemCall), 4 * kMs);  // from tick to tick: 6.5
  // The part of a period is the next sample's.
  EXPECT_EQ(after(kMs / 2, Sampled::kUser), kMs);
}

TEST_F(ElapsedTest, SystemCallTakesNoMoreThanPassedSinceTheTickBefore) {
  after(9 * kMs, Sampled::kUser, 5);
  EXPECT_EQ(after(kMs / 2, Sampled::kTick), 0U);
  after(3 * kMs + kMs / 2, Sampled::kUser, 6);
  EXPECT_EQ(after(0, Sampled::kSystemCall), 3 * kMs + kMs / 2);
  EXPECT_EQ(thread_->kernel_time.take_oldest().context, 5U);
}

TEST_F(ElapsedTest, SystemCallsTakeNothingOfAProgramThatComputes) {
  after(kMs, Sampled::kUser);
  EXPECT_EQ(after(kMs / 2, Sampled::kSystemCall), 0U);
  EXPECT_EQ(after(kMs / 4, Sampled::kTick), 0U);
  EXPECT_EQ(after(kMs / 4, Sampled::kUser), kMs);
}

TEST_F(ElapsedTest, WithoutSystemCallsEachContextIsChargedWithWhatItsSamplesPutAside) {
  std::uint64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    after(i % 4 == 0 ? 9 * kMs : 5 * kMs, Sampled::kUser, i % 4 == 0 ? 7 : 8);
    most = std::max(most, aside());
  }
  EXPECT_GT(most, 30 * kMs);
  EXPECT_LE(most, 40 * kMs);
  while (aside() != 0) {
    const KernelTime::Part part = thread_->kernel_time.take_oldest();
    late_[part.context] += part.ns;
  }
  EXPECT_EQ(late_[7], 25 * 8 * kMs);
  EXPECT_EQ(late_[8], 75 * 4 * kMs);
}

TEST(KernelTime, WhatTheEndOfTheProcessTookMeanwhileEndsNoLoop) {
  KernelTime time;
  time.add({5, 1});
  time.take_oldest();
  time.take_oldest();  // as its owner may, which saw a part a moment before
  EXPECT_TRUE(time.is_empty());
  EXPECT_EQ(time.take_newest(100), 0u);
  time.add({7, 2});
  EXPECT_EQ(time.take_oldest().ns, 7u);
  EXPECT_TRUE(time.is_empty());
}

TEST_F(ElapsedTest, PartsOfMoreContextsThanThereIsRoomForAreChargedTheOldestFirst) {
  for (format::Ref context = 1; context <= 100; ++context) {
    after(2 * kMs, Sampled::kUser, context);
  }
  EXPECT_LT(aside(), 40 * kMs);
  EXPECT_EQ(late_[1], kMs);
  EXPECT_EQ(late_.count(100), 0U);
}

TEST_F(ElapsedTest, InAnotherTreePartsHaveNoContext) {
  after(3 * kMs, Sampled::kUser, 5);
  after(3 * kMs, Sampled::kUser, 6);
  thread_->kernel_time.forget_contexts();
  EXPECT_EQ(aside(), 4 * kMs);
  EXPECT_EQ(thread_->kernel_time.take_oldest().context, 0U);
  EXPECT_EQ(aside(), 0U);
}

TEST_F(ElapsedTest, TickEndsALongStayInTheKernel) {
  EXPECT_EQ(after(39 * kMs, Sampled::kTick), 0U);
  EXPECT_EQ(after(2 * kMs, Sampled::kTick), 41 * kMs);
}

// At one sample a second the bound grows with the period, or every sample would settle.
TEST_F(ElapsedTest, LongPeriodsPutMoreAside) {
  thread_->event_period_ns = 1000 * kMs;
  EXPECT_EQ(after(3000 * kMs, Sampled::kUser), 1000 * kMs);
  EXPECT_EQ(aside(), 2000 * kMs);
}

TEST_F(ElapsedTest, ClockThatWentBackChargesNothing) {
  after(10 * kMs, Sampled::kAll);
  EXPECT_TRUE(take_elapsed(*thread_, Sampled::kAll, 9 * kMs, 9 * kMs).is_none());
}

TEST_F(ElapsedTest, WithoutAnEventEachSampleIsChargedWhole) {
  thread_->event_period_ns = 0;
  EXPECT_EQ(after(4 * kMs, Sampled::kAll), 4 * kMs);
  EXPECT_EQ(after(400 * kMs, Sampled::kAll), 400 * kMs);
}

TEST_F(ElapsedTest, EveryOrderOfSamplesAddsUpToTheClock) {
  std::mt19937_64 random(7);
  const Sampled kinds[] = {Sampled::kAll, Sampled::kUser, Sampled::kSystemCall, Sampled::kTick};
  for (int i = 0; i < 100'000; ++i) {
    after(random() % (random() % 8 == 0 ? 100 * kMs : 2 * kMs), kinds[random() % 4],
          static_cast<format::Ref>(1 + random() % 50));
  }
  after(1, Sampled::kAll);
  EXPECT_EQ(charged_ + aside(), now_);
}

}  // namespace
}  // namespace fbleprof::signal_safe
