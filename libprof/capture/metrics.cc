#include "capture/metrics.h"

#include "signal_safe/call_tree.h"

namespace fbleprof::capture {

namespace {

using format::MetricPlace;
using format::Role;
using signal_safe::Options;

bool always(const Options&) { return true; }
bool with_faults(const Options& options) { return options.faults; }

}  // namespace

constinit const MetricDescription kMetrics[] = {
    {"cpu", "ns", Role::kCpuTime, MetricPlace::kValues, signal_safe::kCpuNs, nullptr, always},
    {"wall", "ns", Role::kWallTime, MetricPlace::kValues, signal_safe::kWallNs, nullptr, always},
    {"samples", "count", Role::kSamples, MetricPlace::kValues, signal_safe::kSamples, nullptr,
     always},
    {"overhead", "ns", Role::kOwnCost, MetricPlace::kValues, signal_safe::kOwnCostNs, nullptr,
     always},
    {"ticks", "count", Role::kVirtualTime, MetricPlace::kValues, signal_safe::kTicks, nullptr,
     always},
    {"calls", "count", Role::kCalls, MetricPlace::kCalls, 0, nullptr, always},
    {"minor-faults", "count", Role::kEvent, MetricPlace::kValues, signal_safe::kMinorFaults,
     nullptr, with_faults},
    {"major-faults", "count", Role::kEvent, MetricPlace::kValues, signal_safe::kMajorFaults,
     nullptr, with_faults},
    {"faults", "count", Role::kEvent, MetricPlace::kDerived, 0, "minor-faults + major-faults",
     with_faults},
};
constinit const int kMetricCount = sizeof kMetrics / sizeof kMetrics[0];

bool is_default_metric(const MetricDescription& metric, const Options& options) {
  switch (options.clock) {
    case format::Clock::kCpu:
      return metric.role == Role::kCpuTime;
    case format::Clock::kWall:
      return metric.role == Role::kWallTime;
    case format::Clock::kTicks:
      return metric.role == Role::kVirtualTime;
  }
  return false;
}

}  // namespace fbleprof::capture
