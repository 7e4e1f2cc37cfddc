#include "transform/baseline.h"

#include <algorithm>
#include <set>

namespace fbleprof::transform {

using namespace profile;

namespace {

bool is_import(const Profile& profile) {
  const std::vector<Process>& processes = profile.processes();
  return !processes.empty() &&
         std::all_of(processes.begin(), processes.end(),
                     [](const Process& process) { return process.is_imported; });
}

}  // namespace

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

Profile like_recorded(const Profile& profile, const Profile& other) {
  if (!is_import(profile) || is_import(other)) return profile;
  std::set<std::string_view> blocks;
  for (std::size_t f = 0; f < other.functions().count(); ++f) {
    if (other.functions().kind[f] != FunctionKind::kBlock) continue;
    blocks.insert(other.text(other.functions().name[f]));
  }
  auto functions = std::make_shared<Functions>(profile.functions());
  for (std::size_t f = 0; f < functions->count(); ++f) {
    const std::string_view name = profile.text(functions->name[f]);
    if (functions->kind[f] == FunctionKind::kBlock && !name.empty() && !name.starts_with('[') &&
        !blocks.contains(name)) {
      functions->kind[f] = FunctionKind::kNative;
    }
  }
  Parts parts = profile.parts();
  parts.functions = std::move(functions);
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
