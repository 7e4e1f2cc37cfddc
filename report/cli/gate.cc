#include "report/cli/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analysis/costs.h"
#include "analysis/default_metric.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/diff_view.h"
#include "transform/baseline.h"
#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::report {

using analysis::Change;
using analysis::Extent;
using profile::Metric;
using profile::Profile;
using profile::Role;

namespace {

using Wide = unsigned __int128;

struct Unit {
  std::string_view name, of;
  std::uint64_t factor;
};
constexpr Unit kUnits[] = {{"ns", "ns", 1},
                           {"us", "ns", 1000},
                           {"ms", "ns", 1'000'000},
                           {"s", "ns", 1'000'000'000},
                           {"B", "bytes", 1},
                           {"KiB", "bytes", 1u << 10},
                           {"MiB", "bytes", 1u << 20},
                           {"GiB", "bytes", 1u << 30}};

Error wrong(const std::string& text, std::string what) {
  return {"--fail-if \"" + text + "\"",
          {},
          std::move(what),
          "[+|-]NUMBER[%|UNIT] METRIC [self|dominated] [in PATTERN], e.g. '+5% ticks in parse*'"};
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return word;
}

// Digits with at most one point among them; moves `word` past them.
bool take_number(std::string_view& word, Limit& limit) {
  bool any = false, after_point = false;
  constexpr std::uint64_t kMost = 1'000'000'000'000'000;
  while (!word.empty()) {
    const char c = word.front();
    if (c == '.' && !after_point) {
      after_point = true;
    } else if (c >= '0' && c <= '9') {
      if (limit.digits > kMost || limit.power_of_ten > kMost) return false;
      any = true;
      limit.digits = limit.digits * 10 + static_cast<std::uint64_t>(c - '0');
      if (after_point) limit.power_of_ten *= 10;
    } else {
      break;
    }
    word.remove_prefix(1);
  }
  return any;
}

// Whether the change exceeds the limit: size > digits / power * factor, or for percentages size *
// 100 > base * digits / power. Both sides are multiplied out; no product exceeds 128 bits for
// figures below 2^60, and larger figures are compared as long double.
bool exceeds(const Change& change, const Limit& limit) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 60;
  const std::uint64_t size = change.size();
  const std::uint64_t left_factor = limit.is_percent ? 100 : 1;
  const std::uint64_t right_factor = limit.is_percent ? change.base : limit.factor;
  if (size < kExact && right_factor < kExact) {
    return Wide{size} * left_factor * limit.power_of_ten > Wide{limit.digits} * right_factor;
  }
  return static_cast<long double>(size) * left_factor * limit.power_of_ten >
         static_cast<long double>(limit.digits) * right_factor;
}

std::string change_text(const Change& change, const std::string& unit) {
  const std::string sign = change.grew() ? "+" : change.size() != 0 ? "-" : "";
  std::string share = change.base == 0 ? std::string("new")
                                       : fmt::format("{}{:.2f}%", sign,
                                                     100.0 * static_cast<double>(change.size()) /
                                                         static_cast<double>(change.base));
  return fmt::format("{} -> {} ({}{}, {})", quantity(change.base, unit), quantity(change.now, unit),
                     sign, quantity(change.size(), unit), share);
}

}  // namespace

Result<Limit> parse_limit(const std::string& text) {
  Limit limit;
  limit.text = text;
  std::string_view rest = text;
  std::string_view word = take_word(rest);
  if (word.starts_with('+') || word.starts_with('-')) {
    limit.direction = word[0] == '+' ? Limit::Direction::kUp : Limit::Direction::kDown;
    word.remove_prefix(1);
  }
  if (!take_number(word, limit)) return wrong(text, "does not begin with a number");
  if (word == "%") {
    limit.is_percent = true;
  } else if (!word.empty()) {
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                    [&](const Unit& u) { return u.name == word; });
    if (unit == std::end(kUnits)) return wrong(text, fmt::format("no unit \"{}\"", word));
    limit.unit = unit->of;
    limit.factor = unit->factor;
  }
  limit.metric = take_word(rest);
  if (limit.metric.empty()) return wrong(text, "names no metric");
  // The name of an imported metric may hold blanks; rules cannot name such a metric.
  std::string_view before = rest;
  word = take_word(rest);
  if (word == "self" || word == "dominated") {
    limit.extent = word == "self" ? Extent::kSelf : Extent::kDominated;
    before = rest;
    word = take_word(rest);
  }
  if (before.empty()) return limit;
  if (word != "in") return wrong(text, fmt::format("\"{}\" where \"in\" is expected", word));
  limit.pattern = rest.substr(0, rest.find_last_not_of(' ') + 1);
  if (limit.pattern.empty()) return wrong(text, "no pattern after \"in\"");
  return limit;
}

Result<std::string> check_limit(const Profile& profile, const Limit& limit, bool normalize) {
  const Metric* now = analysis::metric_called(profile, limit.metric);
  const Metric* base =
      profile.find_metric(transform::baseline_name(now == nullptr ? limit.metric : now->name));
  if (now == nullptr || base == nullptr) {
    return wrong(limit.text, fmt::format("no metric \"{}\" in {}", limit.metric,
                                         now == nullptr ? "the profile" : "the baseline"));
  }
  // A metric that was not measured never changes. (One that only one run counted may have changed.)
  const std::uint64_t all_now = analysis::total(profile, *now);
  const std::uint64_t all_base = analysis::total(profile, *base);
  const bool is_everywhere = now->role == Role::kCpuTime || now->role == Role::kWallTime ||
                             now->role == Role::kSamples || now->role == Role::kCalls;
  if (all_now == 0 || all_base == 0) {
    if (all_now == all_base || is_everywhere) {
      return wrong(limit.text, fmt::format("{} was not measured in {}", limit.metric,
                                           all_now == all_base ? "either profile"
                                           : all_now == 0      ? "the profile"
                                                               : "the baseline"));
    }
  }
  if (!limit.unit.empty() && limit.unit != now->unit) {
    return wrong(limit.text,
                 fmt::format("{} is measured in {}, not in that unit", now->name, now->unit));
  }
  const bool is_calls = now->role == Role::kCalls;
  const Extent extent = limit.extent.value_or(is_calls ? Extent::kSelf : Extent::kDominated);
  std::vector<std::uint8_t> matches;
  if (!limit.pattern.empty()) {
    auto matched = transform::match(profile, limit.pattern);
    if (!matched) return wrong(limit.text, matched.error().line());
    matches = std::move(*matched);
    // A rule that matches nothing would always hold.
    bool any = false;
    for (const profile::FunctionId f : profile.nodes().function) any |= matches[f.index()] != 0;
    if (!any) {
      return wrong(limit.text,
                   fmt::format("\"{}\" names no function of either profile: {}", limit.pattern,
                               transform::likely_meant(profile, limit.pattern)));
    }
  }
  const analysis::DiffMetrics metrics = diff_metrics(profile, *now, normalize);
  const analysis::Noise noise = analysis::noise_of(profile, metrics);
  const auto cost = [&](const Metric& of) {
    return analysis::cost_of(profile, of, matches, extent);
  };
  Change change;
  change.now = analysis::of_runs(*now, cost(*now), noise.now_runs);
  change.base = analysis::of_runs(*base, cost(*base), noise.base_runs);
  if (normalize && !is_calls) {
    change.base = analysis::scaled(change.base, analysis::of_runs(*now, all_now, noise.now_runs),
                                   analysis::of_runs(*base, all_base, noise.base_runs));
  }
  const bool counts = limit.direction == Limit::Direction::kBoth ||
                      (limit.direction == Limit::Direction::kUp) == change.grew();
  if (!counts || !exceeds(change, limit)) return std::string();
  // A change that chance alone can cause breaks no rule.
  std::vector<std::uint64_t> base_runs, runs;
  for (const Metric* run : metrics.base_runs) base_runs.push_back(cost(*run));
  for (const Metric* run : metrics.runs) runs.push_back(cost(*run));
  if (noise.is_sampled) {
    change.base_samples = cost(*noise.base_samples);
    change.now_samples = cost(*noise.now_samples);
  }
  if (analysis::is_noise(noise, change, base_runs, runs)) return std::string();
  return fmt::format("failed: {}: {}{}{} {}", limit.text, limit.metric,
                     matches.empty()           ? ""
                     : extent == Extent::kSelf ? " self"
                                               : " dominated",
                     matches.empty() ? "" : " in " + limit.pattern, change_text(change, now->unit));
}

}  // namespace fbleprof::report
