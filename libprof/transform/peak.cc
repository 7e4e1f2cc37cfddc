#include "transform/peak.h"

#include <utility>

#include "transform/window.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

std::uint64_t sum(const Counts& counts) {
  std::uint64_t all = 0;
  counts.each([&](std::size_t, std::uint64_t value) { all += value; });
  return all;
}

}  // namespace

Profile with_peak(const Profile& profile) {
  const auto at = find_snapshot(profile, SnapshotReason::kPeak);
  const Metric* live = profile.find_metric("live");
  if (!at || live == nullptr || live->role != Role::kLevel || profile.find_metric(kPeakMetric)) {
    return profile;
  }
  const auto index = static_cast<std::size_t>(live - profile.metrics().data());
  const Snapshots& snapshots = *profile.parts().snapshots;
  Counts held = snapshots.values(snapshots.all[*at], index);
  // The recorder takes a snapshot when 5 % more is in use than at the last one, so the peak may be
  // later, at the end.
  if (live->values && sum(*live->values) > sum(held)) held = *live->values;
  Parts parts = profile.parts();
  Metric peak = *live;
  peak.name = kPeakMetric;
  peak.formula.clear();
  peak.values = std::make_shared<const Counts>(std::move(held));
  parts.metrics.push_back(std::move(peak));
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
