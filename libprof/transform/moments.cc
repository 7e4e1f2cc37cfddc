#include "transform/moments.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "profile/snapshot_columns.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

constexpr std::string_view kBetween = "..";
constexpr std::string_view kOwnEnd = "end";
constexpr std::size_t kMostNamed = 8;

struct Unit {
  std::string_view name;
  double ns;
};
constexpr Unit kUnits[] = {{"ms", 1e6},   {"us", 1e3}, {"ns", 1},    {"s", 1e9},
                           {"min", 60e9}, {"m", 60e9}, {"h", 3600e9}};

constexpr double kLongestNs = 1e18;  // 31 years

// "1.5s" in ns; nothing if it is not a duration.
std::optional<std::uint64_t> parse_time(std::string_view text) {
  double amount = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, amount);
  if (error != std::errc() || !(amount >= 0)) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    const double ns = amount * known.ns;
    return ns <= kLongestNs ? std::optional(static_cast<std::uint64_t>(ns)) : std::nullopt;
  }
  return std::nullopt;
}

std::string known_moments(const Profile& profile) {
  if (profile.snapshots().empty()) return "it has no snapshots";
  std::string text = "there are";
  std::size_t shown = 0;
  for (const Moment& moment : moments(profile, false)) {
    if (++shown > kMostNamed) return text + ", ...";
    text += fmt::format("{} {} ({:.3g} s)", shown == 1 ? "" : ",", name_of(moment),
                        static_cast<double>(moment.time_ns) / 1e9);
  }
  return text;
}

Error no_such(const Profile& profile, std::string_view what) {
  const std::string file(
      profile.processes().empty() ? "" : profile.text(profile.processes().front().file));
  return {file, std::nullopt, fmt::format("no {}", what), known_moments(profile)};
}

// The index of a moment's snapshot; nothing: the start or end of the profile itself.
Result<std::optional<std::size_t>> find(const Profile& profile, const std::string& name,
                                        std::string_view own_end) {
  using Place = std::optional<std::size_t>;
  if (name.empty()) return Place();
  if (const auto named = find_snapshot(profile, name)) return Place(named);
  if (name == own_end) return Place();
  if (name == "peak") {
    if (const auto peak = find_snapshot(profile, SnapshotReason::kPeak)) return Place(peak);
  }
  const std::string_view text = name;
  if (text.starts_with('#')) {
    for (std::size_t s = 0; s < profile.snapshots().size(); ++s) {
      if (text.substr(1) == std::to_string(profile.snapshots()[s].generation)) return Place(s);
    }
  }
  const bool is_before_end = text.starts_with('-');
  const auto time = parse_time(is_before_end ? text.substr(1) : text);
  if (!time || profile.snapshots().empty()) {
    return no_such(profile, fmt::format("snapshot \"{}\"", name));
  }
  // Before the first snapshot there is only the start.
  return is_before_end ? snapshot_before_end(profile, *time) : snapshot_at(profile, *time);
}

}  // namespace

Result<Span> parse_span(std::string_view text) {
  const std::size_t between = text.find(kBetween);
  if (between == std::string_view::npos) {
    return Error{"", std::nullopt, fmt::format("\"{}\" is no window", text),
                 "A..B, A.. or ..B: a snapshot's name, #NUMBER, peak, or a time as 10s or -10s"};
  }
  return Span{std::string(text.substr(0, between)),
              std::string(text.substr(between + kBetween.size()))};
}

std::string span_text(const Span& span) { return span.from + std::string(kBetween) + span.to; }

Result<Window> find_window(const Profile& profile, const Span& span) {
  const auto from = find(profile, span.from, "start");
  if (!from) return from.error();
  const auto to = find(profile, span.to, kOwnEnd);
  if (!to) return to.error();
  // Nothing is known of what was there at a time before the first snapshot.
  if (!*to && !span.to.empty() && span.to != kOwnEnd) {
    return no_such(profile, fmt::format("snapshot up to {}", span.to));
  }
  if (*from && *to && **from > **to) {
    return Error{"", std::nullopt,
                 fmt::format("the window {} ends before it begins", span_text(span)),
                 known_moments(profile)};
  }
  return Window{*from, *to};
}

std::vector<Moment> moments(const Profile& profile, bool totals) {
  std::vector<Moment> all;
  const std::string file(
      profile.processes().empty() ? "" : profile.text(profile.processes().front().file));
  for (const Snapshot& snapshot : profile.snapshots()) {
    Moment& moment = all.emplace_back();
    moment = {file,
              snapshot.name ? std::string(profile.text(snapshot.name)) : "",
              snapshot.generation,
              snapshot.time_ns,
              snapshot.reason,
              {}};
    if (!totals) continue;
    const std::vector<Counts> columns =
        columns_at(*profile.parts().snapshots, snapshot, profile.metrics().size());
    for (std::size_t m = 0; m < columns.size(); ++m) {
      const Metric& metric = profile.metrics()[m];
      std::uint64_t total = 0;
      columns[m].each([&](std::size_t, std::uint64_t value) { metric.add(total, value); });
      moment.totals.push_back({metric.name, total});
    }
  }
  return all;
}

std::string name_of(const Moment& moment) {
  return moment.name.empty() ? fmt::format("#{}", moment.number) : moment.name;
}

}  // namespace fbleprof::transform
