#include "capture/metrics.h"

#include "format/events.h"
#include "signal_safe/call_tree.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/wait_words.h"

namespace fbleprof::capture {

namespace {

using format::MetricPlace;
using format::Role;
using signal_safe::Options;

bool always(const Options&) { return true; }
bool with_faults(const Options& options) { return options.faults; }

template <int kPlace>
bool with_event(const Options& options) {
  return options.event == kPlace + 1;
}

bool with_waits(const Options& options) { return options.waits; }
bool with_preempted(const Options& options) { return options.preempted; }

using signal_safe::AllocationMode;
bool with_allocations(const Options& options) {
  return options.allocations != AllocationMode::kOff;
}
// Lifetimes are measured by the clock that samples update.
bool with_lifetimes(const Options& options) {
  return with_allocations(options) && options.clock != format::Clock::kTicks;
}
bool with_allocation_samples(const Options& options) {
  return with_allocations(options) && options.allocations != AllocationMode::kExact;
}
// The search for lost blocks needs to know all blocks.
bool with_lost(const Options& options) { return options.allocations == AllocationMode::kExact; }

}  // namespace

#define FBLEPROF_VALUE(name, unit, role, word, is_recorded) \
  { name, unit, Role::role, MetricPlace::kValues, signal_safe::word, nullptr, is_recorded }
#define FBLEPROF_WAIT(name, unit, role, word) \
  { name, unit, Role::role, MetricPlace::kValues, signal_safe::word, nullptr, with_waits, true }
#define FBLEPROF_EVENT(n)                                                                 \
  {                                                                                       \
    format::kEvents[n].name, format::kEvents[n].unit, Role::kEvent, MetricPlace::kValues, \
        signal_safe::kEvents, nullptr, with_event<n>                                      \
  }
#define FBLEPROF_SIZES(n, name)                                                          \
  {                                                                                      \
    name, "count", Role::kEvent, MetricPlace::kValues, signal_safe::kSizes + n, nullptr, \
        with_allocations                                                                 \
  }
#define FBLEPROF_LIFETIMES(n, name)                                                          \
  {                                                                                          \
    name, "count", Role::kEvent, MetricPlace::kValues, signal_safe::kLifetimes + n, nullptr, \
        with_lifetimes                                                                       \
  }
#define FBLEPROF_DERIVED(name, unit, role, formula) \
  { name, unit, Role::role, MetricPlace::kDerived, 0, formula, with_allocations }

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
    FBLEPROF_EVENT(0),
    FBLEPROF_EVENT(1),
    FBLEPROF_EVENT(2),
    FBLEPROF_EVENT(3),
    FBLEPROF_EVENT(4),
    FBLEPROF_EVENT(5),
    FBLEPROF_EVENT(6),
    FBLEPROF_WAIT("wait", "ns", kWaitTime, kWaitNs),
    FBLEPROF_WAIT("unseen", "ns", kUnseenTime, kUnseenNs),
    {"preempted", "ns", Role::kReadyTime, MetricPlace::kValues, signal_safe::kPreemptedNs, nullptr,
     with_preempted, true},
    {"time", "ns", Role::kWallTime, MetricPlace::kDerived, 0, "cpu + wait", with_waits},
    FBLEPROF_WAIT("waits", "count", kWaits, kWaits),
    {"longest-wait", "ns", Role::kLongestWait, MetricPlace::kValues, signal_safe::kLongestWaitNs,
     nullptr, with_waits, true, format::Aggregation::kMax},
    FBLEPROF_WAIT("wait-for-events", "ns", kEventWait, kEventWaitNs),
    FBLEPROF_WAIT("wait-for-peers", "ns", kPeerWait, kPeerWaitNs),
    FBLEPROF_WAIT("held", "ns", kCausedWait, kHeldNs),
    FBLEPROF_WAIT("holds", "count", kEvent, kHolds),
    FBLEPROF_WAIT("woke", "ns", kCausedWait, kWokeNs),
    FBLEPROF_WAIT("wakes", "count", kEvent, kWakes),
    FBLEPROF_WAIT("bytes-read", "bytes", kAmount, kBytesRead),
    FBLEPROF_WAIT("bytes-written", "bytes", kAmount, kBytesWritten),
    FBLEPROF_WAIT("voluntary-switches", "count", kEvent, kVoluntarySwitches),
    FBLEPROF_WAIT("involuntary-switches", "count", kEvent, kInvoluntarySwitches),
    {"switches", "count", Role::kEvent, MetricPlace::kDerived, 0,
     "voluntary-switches + involuntary-switches", with_waits},
    FBLEPROF_WAIT("waited-below-100us", "count", kWaitClass, kWaitClass + 0),
    FBLEPROF_WAIT("waited-below-1ms", "count", kWaitClass, kWaitClass + 1),
    FBLEPROF_WAIT("waited-below-10ms", "count", kWaitClass, kWaitClass + 2),
    FBLEPROF_WAIT("waited-below-100ms", "count", kWaitClass, kWaitClass + 3),
    FBLEPROF_WAIT("waited-below-1s", "count", kWaitClass, kWaitClass + 4),
    FBLEPROF_WAIT("waited-below-10s", "count", kWaitClass, kWaitClass + 5),
    FBLEPROF_WAIT("waited-10s-or-more", "count", kWaitClass, kWaitClass + 6),
    FBLEPROF_VALUE("allocations", "count", kEvent, kAllocations, with_allocations),
    FBLEPROF_VALUE("allocated", "bytes", kAmount, kAllocatedBytes, with_allocations),
    FBLEPROF_VALUE("frees-here", "count", kEvent, kFreesHere, with_allocations),
    FBLEPROF_VALUE("freed-here", "bytes", kAmount, kFreedHereBytes, with_allocations),
    FBLEPROF_VALUE("frees-elsewhere", "count", kEvent, kFreesElsewhere, with_allocations),
    FBLEPROF_VALUE("freed-elsewhere", "bytes", kAmount, kFreedElsewhereBytes, with_allocations),
    FBLEPROF_DERIVED("frees", "count", kEvent, "frees-here + frees-elsewhere"),
    FBLEPROF_DERIVED("freed", "bytes", kAmount, "freed-here + freed-elsewhere"),
    FBLEPROF_DERIVED("live-blocks", "count", kLevel, "allocations - frees"),
    FBLEPROF_DERIVED("live", "bytes", kLevel, "allocated - freed"),
    FBLEPROF_VALUE("temporary", "count", kEvent, kTemporary, with_allocations),
    FBLEPROF_VALUE("leaked-blocks", "count", kLevel, kLeakedBlocks, with_allocations),
    FBLEPROF_VALUE("leaked", "bytes", kLevel, kLeakedBytes, with_allocations),
    FBLEPROF_VALUE("lost-blocks", "count", kLevel, kLostBlocks, with_lost),
    FBLEPROF_VALUE("lost", "bytes", kLevel, kLostBytes, with_lost),
    FBLEPROF_VALUE("lifetime", "ns", kAmount, kLifetimeNs, with_lifetimes),
    FBLEPROF_VALUE("allocation-samples", "count", kEvent, kAllocationSamples,
                   with_allocation_samples),
    FBLEPROF_VALUE("unrecorded-allocations", "count", kEvent, kUnrecorded, with_allocations),
    FBLEPROF_SIZES(0, "size-to-16"),
    FBLEPROF_SIZES(1, "size-to-64"),
    FBLEPROF_SIZES(2, "size-to-256"),
    FBLEPROF_SIZES(3, "size-to-1K"),
    FBLEPROF_SIZES(4, "size-to-4K"),
    FBLEPROF_SIZES(5, "size-to-16K"),
    FBLEPROF_SIZES(6, "size-to-64K"),
    FBLEPROF_SIZES(7, "size-to-256K"),
    FBLEPROF_SIZES(8, "size-to-1M"),
    FBLEPROF_SIZES(9, "size-to-4M"),
    FBLEPROF_SIZES(10, "size-above-4M"),
    FBLEPROF_LIFETIMES(0, "lived-below-10ms"),
    FBLEPROF_LIFETIMES(1, "lived-below-100ms"),
    FBLEPROF_LIFETIMES(2, "lived-below-1s"),
    FBLEPROF_LIFETIMES(3, "lived-below-10s"),
    FBLEPROF_LIFETIMES(4, "lived-below-100s"),
    FBLEPROF_LIFETIMES(5, "lived-100s-or-more"),
};
static_assert(format::kWaitClasses == 7 && format::kEventCount == 7);
static_assert(signal_safe::kSizeClasses == 11 && signal_safe::kLifetimeClasses == 6);
constinit const int kMetricCount = sizeof kMetrics / sizeof kMetrics[0];

bool is_default_metric(const MetricDescription& metric, const Options& options) {
  if (options.event != 0) {
    return metric.place == MetricPlace::kValues && metric.word == signal_safe::kEvents &&
           metric.is_recorded(options) && !metric.is_wait_word;
  }
  switch (options.clock) {
    case format::Clock::kCpu:
      return metric.role == Role::kCpuTime;
    case format::Clock::kWall:
      // With waits, show the sum of the known parts; unseen time may be charged to the wrong
      // context.
      return metric.role == Role::kWallTime &&
             (metric.place == MetricPlace::kDerived) == options.waits;
    case format::Clock::kTicks:
      return metric.role == Role::kVirtualTime;
  }
  return false;
}

}  // namespace fbleprof::capture
