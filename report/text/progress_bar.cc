#include "report/text/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "report/text/escape.h"

namespace fbleprof::report {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kRefresh = std::chrono::milliseconds(100);
constexpr std::uint64_t kCells = 30;

void put(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

void ProgressBar::update(std::string_view step, std::uint64_t done, std::uint64_t total) {
  if (!enabled_) return;
  const auto now = Clock::now();
  if (now - start_ < kPatience || now - last_ < kRefresh) return;
  last_ = now;
  visible_ = true;
  const std::uint64_t whole = std::max<std::uint64_t>(total, 1);
  const std::uint64_t part = std::min(done, whole);
  const std::uint64_t filled = part * kCells / whole;
  std::string bar;
  for (std::uint64_t i = 0; i < kCells; ++i) bar += i < filled ? "█" : "░";
  put(fmt::format("\r\x1b[K{} {:>3}% {}", bar, part * 100 / whole, escape(step)));
}

void ProgressBar::clear() {
  if (!visible_) return;
  put("\r\x1b[K");
  visible_ = false;
}

}  // namespace fbleprof::report
