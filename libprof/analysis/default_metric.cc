#include "analysis/default_metric.h"

#include <string>

#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

Role clock_role(Clock clock) {
  switch (clock) {
    case Clock::kCpu:
      break;
    case Clock::kWall:
      return Role::kWallTime;
    case Clock::kTicks:
      return Role::kVirtualTime;
  }
  return Role::kCpuTime;
}

}  // namespace

const Metric* metric_called(const Profile& profile, std::string_view name) {
  const Metric* metric = profile.find_metric(name);
  return metric != nullptr ? metric : profile.find_metric(std::string(name) + " samples");
}

const Metric* clock_metric(const Profile& profile, const Process& process) {
  return profile.find_metric(clock_role(process.clock));
}

const Metric* default_metric(const Profile& profile) {
  const auto holds = [&](const Metric* metric) {
    return metric != nullptr && total(profile, *metric) != 0;
  };
  for (const Metric& metric : profile.metrics()) {
    if (metric.is_default && !metric.is_baseline && holds(&metric)) return &metric;
  }
  const bool has_run = !profile.processes().empty();
  const Role preferred = has_run ? clock_role(profile.processes()[0].clock) : Role::kCpuTime;
  if (!has_run || !profile.processes()[0].is_imported) {
    // A count, if time was not recorded.
    const Role second = preferred == Role::kVirtualTime ? Role::kCalls : Role::kCpuTime;
    for (const Role role : {preferred, second, Role::kCpuTime, Role::kWallTime, Role::kVirtualTime,
                            Role::kSamples, Role::kCalls}) {
      if (const Metric* metric = profile.find_metric(role); holds(metric)) return metric;
    }
  }
  for (const Metric& metric : profile.metrics()) {
    // A maximum may be from before the window that is shown.
    if (metric.aggregation == Aggregation::kMax) continue;
    if (!metric.is_baseline && holds(&metric)) return &metric;
  }
  const Metric* empty = profile.find_metric(preferred);
  if (empty == nullptr && !profile.metrics().empty()) empty = &profile.metrics().front();
  return empty;
}

}  // namespace fbleprof::analysis
