#include "transform/baseline.h"

#include <algorithm>

namespace fbleprof::transform {

using namespace profile;

std::string baseline_name(std::string_view metric) { return "base:" + std::string(metric); }

Profile as_baseline(const Profile& profile) {
  Parts parts = profile.parts();
  for (Metric& metric : parts.metrics) {
    metric.name = baseline_name(metric.name);
    metric.is_baseline = true;
  }
  auto edges = std::make_shared<Edges>(profile.edges());
  edges->calls = Counts(edges->count());
  parts.edges = std::move(edges);
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
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
