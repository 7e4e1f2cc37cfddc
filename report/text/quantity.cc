#include "report/text/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fbleprof::report {
namespace {

struct Scale {
  std::string_view name;
  double factor;
};

constexpr Scale kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Scale kSizes[] = {{"B", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};

// Three to four significant digits.
std::string digits(double value, std::string_view name) {
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, name);
}

// In the requested unit: three decimals, or as many as three significant digits need, but none
// below one unit of the smallest scale.
std::string in_unit(std::uint64_t value, const Scale& scale) {
  const double shown = static_cast<double>(value) / scale.factor;
  int decimals = 3;
  for (double least = 0.1; shown < least && least * scale.factor > 150; least /= 10) ++decimals;
  return fmt::format("{:.{}f} {}", shown, decimals, scale.name);
}

template <std::size_t N>
std::string scaled(std::uint64_t value, const Scale (&scales)[N], std::string_view wanted) {
  for (const Scale& scale : scales) {
    if (scale.name != wanted) continue;
    if (scale.factor == 1) return count(value) + " " + std::string(scale.name);
    return in_unit(value, scale);
  }
  const Scale* best = &scales[0];
  for (const Scale& scale : scales) {
    if (static_cast<double>(value) >= scale.factor) best = &scale;
  }
  if (best->factor == 1) return fmt::format("{} {}", value, best->name);
  return digits(static_cast<double>(value) / best->factor, best->name);
}

}  // namespace

std::string count(std::uint64_t value) {
  const std::string plain = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i != 0 && (plain.size() - i) % 3 == 0) text += ',';
    text += plain[i];
  }
  return text;
}

std::string plural(std::uint64_t value, std::string_view one) {
  return std::string(one) + (value == 1 ? "" : one.ends_with('s') ? "es" : "s");
}

std::string counted(std::uint64_t value, std::string_view one) {
  return count(value) + " " + plural(value, one);
}

std::string quantity(std::uint64_t value, std::string_view unit, std::string_view wanted) {
  if (unit == "ns") return value == 0 ? "0" : scaled(value, kTimes, wanted);
  if (unit == "bytes") return value == 0 ? "0" : scaled(value, kSizes, wanted);
  return count(value);
}

double percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}%", percent_of(part, whole));
}

bool is_known_unit(std::string_view unit) {
  const auto named = [&](const Scale& scale) { return scale.name == unit; };
  return unit == "auto" || std::any_of(std::begin(kTimes), std::end(kTimes), named) ||
         std::any_of(std::begin(kSizes), std::end(kSizes), named);
}

std::string_view units_for(std::string_view unit) {
  if (unit == "ns") return "ns us ms s";
  return unit == "bytes" ? "B KiB MiB GiB" : "";
}

}  // namespace fbleprof::report
