// A bar on stderr for work of more than a second; nothing if stderr is not a terminal.
#pragma once

#include <chrono>
#include <string>

#include "base/progress.h"

namespace fbleprof::report {

class ProgressBar : public Progress {
 public:
  explicit ProgressBar(bool enabled) : enabled_(enabled) {}
  ~ProgressBar() override { clear(); }

  void update(std::string_view step, std::uint64_t done, std::uint64_t total) override;
  // Removes the bar from the screen before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  const bool enabled_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  bool visible_ = false;
};

}  // namespace fbleprof::report
