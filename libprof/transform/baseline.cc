#include "transform/baseline.h"

#include <algorithm>

namespace fbleprof::transform {

using namespace profile;

std::string baseline_name(std::string_view metric) { return "base:" + std::string(metric); }

std::string unchanged_name(std::string_view metric) { return "unchanged:" + std::string(metric); }

namespace {

Profile set_aside(const Profile& profile, std::string (*name_of)(std::string_view)) {
  Parts parts = profile.parts();
  for (Metric& metric : parts.metrics) {
    metric.name = name_of(metric.name);
    metric.is_baseline = true;
  }
  auto edges = std::make_shared<Edges>(profile.edges());
  edges->calls = Counts(edges->count());
  parts.edges = std::move(edges);
  return Profile(std::move(parts));
}

}  // namespace

Profile as_baseline(const Profile& profile) { return set_aside(profile, baseline_name); }

Profile as_unchanged(const Profile& profile) {
  Parts parts = set_aside(profile, unchanged_name).parts();
  parts.warnings.clear();  // the profile that it is joined with has them
  return Profile(std::move(parts));
}

std::string run_name(std::size_t number, std::string_view metric) {
  return "run " + std::to_string(number) + ":" + std::string(metric);
}

bool is_of_run(std::string_view name, std::string_view metric) {
  const std::size_t end = name.find(':');
  if (end == std::string_view::npos || name.substr(end + 1) != metric) return false;
  constexpr std::string_view kRun = "run ";
  const std::string_view number = name.substr(0, end).substr(std::min(kRun.size(), end));
  return name.starts_with(kRun) && number.find_first_not_of("0123456789") == std::string_view::npos;
}

Profile as_run(const Profile& profile, std::span<const std::string> metrics, std::size_t number) {
  Parts parts = profile.parts();
  for (const std::string& name : metrics) {
    const Metric* found = profile.find_metric(name);
    if (found == nullptr) continue;
    Metric copy = *found;
    copy.name = run_name(number, name);
    // No view shows this metric, and a search by role does not find it.
    copy.is_baseline = true;
    copy.is_default = false;
    copy.role = Role::kAmount;
    parts.metrics.push_back(std::move(copy));
  }
  return Profile(std::move(parts));
}

bool has_unnamed_metric(const Profile& profile) {
  return profile.metrics().size() == 1 && profile.metrics()[0].role == Role::kAmount &&
         std::all_of(profile.processes().begin(), profile.processes().end(),
                     [](const Process& process) { return process.is_imported; });
}

Profile with_metric_like(const Profile& profile, const Metric& like) {
  Parts parts = profile.parts();
  Metric& only = parts.metrics.front();
  const auto values = only.values;
  only = like;
  only.values = values;
  // Calls are what the edges hold: their metric is made from these.
  if (like.role == Role::kCalls && values) {
    auto edges = std::make_shared<Edges>(profile.edges());
    for (std::size_t e = 0; e < edges->count(); ++e) {
      if (edges->kind[e] == EdgeKind::kTree) edges->calls.add(e, (*values)[edges->to[e].index()]);
    }
    parts.edges = std::move(edges);
  }
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
