#include "report/cli/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/costs.h"
#include "profile/reader.h"
#include "report/text/escape.h"
#include "transform/mark.h"
#include "transform/window.h"

namespace fbleprof::report {

using profile::Profile;

namespace {

constexpr char kMark[] = "mark";

std::uint64_t duration_of(const Profile& profile) {
  return profile.processes().size() == 1 ? profile.processes()[0].duration_ns : 0;
}

// What was added since the file was copied to `mark`, until `now`.
Result<Profile> since_mark(const Profile& now, const std::string& file, const std::string& mark) {
  const auto then = profile::read_file(mark);
  if (!then) return then.error();
  if (duration_of(now) < duration_of(then->profile)) {
    return Error{file, std::nullopt, "the window ends before its mark", "choose a later end"};
  }
  const auto marked = transform::with_mark(now, then->profile, kMark);
  if (!marked) {
    return Error{file, std::nullopt, "another run than the one that was marked", "mark it again"};
  }
  return transform::window(*marked, {.from = 0, .to = std::nullopt});
}

}  // namespace

bool has_window(const Options& options) {
  return !options.window.is_whole() || !options.marks.empty();
}

Result<Profile> cut_window(Profile profile, const Options& options) {
  if (!has_window(options)) return profile;
  const std::string file(profile.processes().empty() ? ""
                                                     : profile.text(profile.processes()[0].file));
  if (const auto mark = options.marks.find(file); mark != options.marks.end()) {
    // Its snapshots are dropped with the mark, so the end comes first.
    const auto end = transform::find_window(profile, {"", options.window.to});
    if (!end) return end.error();
    return since_mark(transform::window(profile, *end), file, mark->second);
  }
  const auto window = transform::find_window(profile, options.window);
  if (!window) return window.error();
  return transform::window(profile, transform::from_reset(profile, *window));
}

std::string doubt_about_window(const Profile& cut, const profile::Metric& metric,
                               const Options& options) {
  if (!has_window(options)) return {};
  const bool has_begin = !options.window.from.empty() || !options.marks.empty();
  if (metric.aggregation == profile::Aggregation::kMax && has_begin) {
    return fmt::format("{} is the largest since the start of the profile, not of the window",
                       escape(metric.name));
  }
  if (analysis::total(cut, metric) != 0) return {};
  const auto& all = cut.metrics();
  const bool holds_others = std::any_of(all.begin(), all.end(), [&](const profile::Metric& other) {
    return transform::adds_up(other) && analysis::total(cut, other) != 0;
  });
  if (!holds_others) return "nothing was recorded in the window";
  return fmt::format("no {} was recorded in the window: --metrics lists what was",
                     escape(metric.name));
}

bool holds_earlier_waits(const Profile& cut) {
  const profile::Metric* metric = cut.find_metric(profile::Role::kWaitTime);
  if (metric == nullptr || !metric->values) metric = cut.find_metric(profile::Role::kWallTime);
  if (metric == nullptr || !metric->values || cut.processes().size() != 1) return false;
  // Samples are late, too, but not by that much.
  constexpr std::uint64_t kLateNs = 10'000'000, kLateShare = 20;
  const std::uint64_t length = cut.processes()[0].duration_ns;
  const std::uint64_t most = length + std::max(kLateNs, length / kLateShare);
  std::vector<std::uint64_t> waited(cut.threads().size());
  for (const profile::Tree& tree : cut.trees()) {
    if (tree.thread) waited[tree.thread.index()] += analysis::total(cut, *metric, tree);
  }
  return std::any_of(waited.begin(), waited.end(), [&](std::uint64_t ns) { return ns > most; });
}

Options with_base_window(Options options) {
  options.window = options.base_window;
  options.marks.clear();
  return options;
}

}  // namespace fbleprof::report
