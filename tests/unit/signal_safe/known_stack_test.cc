// Recognizes the stack of the last walk: functions of scripts, whose frames are anywhere in memory.
#include "signal_safe/known_stack.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace fbleprof::signal_safe {
namespace {

constexpr std::uint32_t kFunctions = 5000;

class ScriptStack : public testing::Test {
 protected:
  ScriptStack() {
    for (std::uint32_t i = 0; i < kFunctions; ++i) words_.push_back({i, i + 1000});
  }

  // Walks from the function `newest` on; the number of frames up to the known ones.
  std::uint32_t walk(std::uint32_t newest) {
    known_->begin(now_ns_ += 1'000'000);
    for (std::uint32_t i = newest + 1; i-- > 0;) {
      WalkedFrame* frame = known_->next(pages_, true);
      if (!frame) return 0;
      // The order of the addresses is not that of the calls.
      const auto& words = words_[i ^ 1];
      const std::uint64_t places[] = {address(words.first), address(words.second)};
      const std::uint64_t values[] = {words.first, words.second};
      *frame = WalkedFrame::of_script(places, values, i % 7 + 1);
      if (known_->has_met(ground())) break;
    }
    const std::uint32_t walked = known_->walked();
    known_->remember(ground());
    return walked;
  }

  static std::uint64_t address(const std::uint64_t& word) {
    return reinterpret_cast<std::uint64_t>(&word);
  }
  Ground ground() const {
    Ground ground;
    ground.entry = this;
    ground.has_scripts = true;
    return ground;
  }

  struct Words {
    std::uint64_t first, second;
  };
  std::vector<Words> words_;
  Pages pages_;
  std::unique_ptr<KnownStack> known_ = std::make_unique<KnownStack>();
  std::uint64_t now_ns_ = 0;
};

TEST_F(ScriptStack, UnchangedFunctionsAreNotWalkedAgain) {
  EXPECT_EQ(walk(kFunctions - 1), kFunctions);
  EXPECT_LE(walk(kFunctions - 1), 16u);
  EXPECT_LE(walk(kFunctions - 3), 16u) << "two functions have returned";
  EXPECT_LE(walk(kFunctions - 1), 18u) << "two functions were called";
}

TEST_F(ScriptStack, ChangedFunctionIsWalkedAgain) {
  walk(kFunctions - 1);
  words_[3000].first = 17;  // now another function runs in the same place
  std::uint32_t walked = 0;
  for (int samples = 0; samples < 8 && walked < kFunctions - 3001; ++samples) {
    walked = walk(kFunctions - 1);
  }
  EXPECT_GE(walked, kFunctions - 3001) << "a change in the middle is found some samples later";
  EXPECT_LE(walked, kFunctions - 3000 + 16);
}

TEST_F(ScriptStack, DeepStackIsWalkedToItsEndWhenTheBudgetAllowsIt) {
  known_->begin(now_ns_);
  while (known_->next(pages_, true)) {
  }
  std::uint32_t walked = 0;
  int samples = 0;
  while (walked != kFunctions && samples < 2000) walked = walk(kFunctions - 1), ++samples;
  EXPECT_EQ(walked, kFunctions) << "the first walk used the whole budget up";
  EXPECT_LE(walk(kFunctions - 1), 16u);
}

}  // namespace
}  // namespace fbleprof::signal_safe
