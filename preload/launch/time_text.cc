#include "launch/time_text.h"

#include <charconv>
#include <cstdio>

namespace fbleprof::launch {

using std::chrono::milliseconds;

namespace {

// The number at the start, and the rest of the text.
template <typename Number>
std::optional<Number> read_number(const std::string& text, std::string* rest) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  rest->assign(at, end);
  return value;
}

}  // namespace

std::optional<milliseconds> read_time(const std::string& text) {
  constexpr long kMostMs = 3'600'000'000;
  std::string unit;
  const auto value = read_number<unsigned long>(text, &unit);
  const long unit_ms = unit == "ms"                  ? 1
                       : unit == "s" || unit.empty() ? 1000
                       : unit == "m"                 ? 60'000
                       : unit == "h"                 ? 3'600'000
                                                     : 0;
  if (!value || unit_ms == 0 || *value > static_cast<unsigned long>(kMostMs / unit_ms)) {
    return std::nullopt;
  }
  return milliseconds(static_cast<long>(*value) * unit_ms);
}

std::string time_text(std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  char text[48];
  if (seconds < 60) {
    std::snprintf(text, sizeof text, "%.1fs", seconds);
  } else {
    const long all = static_cast<long>(seconds);
    if (all < 3600) {
      std::snprintf(text, sizeof text, "%ldm %lds", all / 60, all % 60);
    } else {
      std::snprintf(text, sizeof text, "%ldh %ldm", all / 3600, all / 60 % 60);
    }
  }
  return text;
}

std::optional<Windows> read_windows(const std::string& text) {
  constexpr unsigned kMost = 1000;
  Windows windows;
  const std::size_t comma = text.find(',');
  const auto every = read_time(text.substr(0, comma));
  if (!every || every->count() == 0) return std::nullopt;
  windows.every = *every;
  if (comma == std::string::npos) return windows;
  std::string rest;
  const auto most = read_number<unsigned>(text.substr(comma + 1), &rest);
  if (!most || !rest.empty() || *most < 1 || *most > kMost) return std::nullopt;
  windows.most = *most;
  return windows;
}

}  // namespace fbleprof::launch
