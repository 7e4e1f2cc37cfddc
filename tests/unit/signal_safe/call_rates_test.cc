// Which functions are found to be called too often.
#include "signal_safe/call_rates.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace fbleprof::signal_safe {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

std::vector<std::uint64_t> found;
void note(const std::uint64_t* hook_returns, std::uint32_t count) {
  found.insert(found.end(), hook_returns, hook_returns + count);
}

class Rates : public testing::Test {
 protected:
  Rates() { found.clear(); }

  // A slot for calls of `callee` that counts on `counter`.
  void add(std::size_t slot, std::uint64_t callee, std::uint64_t* counter) {
    cache[slot] = {1 + slot, callee, counter, 0};
  }
  // A sample each millisecond, and as many calls in each as `each_ms` makes.
  template <typename Calls>
  void run(std::uint64_t milliseconds, Calls each_ms) {
    for (std::uint64_t i = 0; i < milliseconds; ++i) {
      each_ms();
      now += kMillisecond;
      rates->look(cache.get(), now, kMost, note);
    }
  }

  static constexpr std::uint64_t kMost = 10'000;
  std::unique_ptr<Slot[]> cache{new Slot[kFirstCacheSlots]()};
  std::unique_ptr<CallRates> rates{new CallRates()};
  std::uint64_t now = 1000 * kMillisecond;
};

TEST_F(Rates, OftenCalledFunctionIsFound) {
  std::uint64_t often = 0, seldom = 0;
  add(77, 0x1000, &often), add(kFirstCacheSlots - 1, 0x2000, &seldom);
  run(1000, [&] { often += 11, seldom += 9; });
  ASSERT_FALSE(found.empty());
  for (const std::uint64_t callee : found) EXPECT_EQ(callee, 0x1000u);
}

TEST_F(Rates, ContextsOfAFunctionAddUp) {
  std::uint64_t counters[50] = {};
  for (std::size_t i = 0; i < 50; ++i) add(i * 300, 0x1000, &counters[i]);
  run(1000, [&] {
    for (std::size_t i = 0; i < 11; ++i) ++counters[i * 4];
  });
  EXPECT_FALSE(found.empty());
}

TEST_F(Rates, CounterOfTwoCallSitesCountsOnce) {
  std::uint64_t counter = 0;
  for (std::size_t i = 0; i < 20; ++i) add(i * 700, 0x1000, &counter);
  run(1000, [&] { counter += 9; });
  EXPECT_TRUE(found.empty());
}

TEST_F(Rates, CallsBeforeTheFirstLookDoNotCount) {
  std::uint64_t counter = 1'000'000'000;
  add(5, 0x1000, &counter);
  run(1000, [] {});
  EXPECT_TRUE(found.empty());
}

TEST_F(Rates, LongTimeBetweenSamplesIsNoBurst) {
  std::uint64_t counter = 0;
  add(5, 0x1000, &counter);
  run(600, [&] { counter += 9; });
  now += 10'000 * kMillisecond;
  counter += 10'000 * 9;
  run(600, [&] { counter += 9; });
  EXPECT_TRUE(found.empty());
}

TEST_F(Rates, BlocksAndOtherKeysAreLeftAlone) {
  std::uint64_t counter = 0;
  add(5, ~std::uint64_t{0} - 7, &counter), add(6, std::uint64_t{1} << 47, &counter);
  run(1000, [&] { counter += 100; });
  EXPECT_TRUE(found.empty());
}

TEST_F(Rates, FunctionThatIsNoLongerCalledIsNotFoundAgain) {
  std::uint64_t counter = 0;
  add(5, 0x1000, &counter);
  run(1000, [&] { counter += 100; });
  EXPECT_FALSE(found.empty());
  run(1000, [] {});  // the round that had begun
  found.clear();
  run(2000, [] {});
  EXPECT_TRUE(found.empty());
}

TEST_F(Rates, ThreadThatTakesOverTheMemoryBeginsAnew) {
  std::uint64_t counter = 0;
  add(5, 0x1000, &counter);
  run(600, [&] { counter += 9; });
  rates->forget();
  counter += 1'000'000;
  run(600, [&] { counter += 9; });
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace fbleprof::signal_safe
