#include "transform/baseline.h"

namespace fbleprof::transform {

using namespace profile;

std::string baseline_name(std::string_view metric) { return "base:" + std::string(metric); }

Profile as_baseline(const Profile& profile) {
  Parts parts = profile.parts();
  for (Metric& metric : parts.metrics) metric.name = baseline_name(metric.name);
  auto edges = std::make_shared<Edges>(profile.edges());
  edges->calls.assign(edges->count(), 0);
  parts.edges = std::move(edges);
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
