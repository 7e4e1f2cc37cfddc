// Events that the kernel can count and sample, in place of time (FBLEPROF_CLOCK). The recorder and
// fble-prof share the list.
//
// Only events that happen in user mode: a signal at an event in the kernel would make sleeping
// calls return early. So context switches are none of these.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

namespace fbleprof::format {

struct Event {
  const char* name;  // also the metric's
  const char* unit;
  std::uint32_t type;     // perf_event_attr's
  std::uint64_t config;   // perf_event_attr's
  std::uint64_t at_1khz;  // events to a sample at the default rate of 1000
};

inline constexpr Event kEvents[] = {
    {"cycles", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 2'000'000},
    {"instructions", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 2'000'000},
    {"cache-misses", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 10'000},
    {"branch-misses", "count", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 10'000},
    {"task-clock", "ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1'000'000},
    {"page-faults", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 10},
    {"major-page-faults", "count", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
};
inline constexpr std::uint32_t kEventCount = sizeof kEvents / sizeof kEvents[0];
inline constexpr char kClockNames[] =
    "cpu, wall, ticks, or an event: cycles, instructions, cache-misses, branch-misses, task-clock, "
    "page-faults, major-page-faults";

// How perf_event_open gets the event: in user mode only.
inline perf_event_attr attributes_of(const Event& event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.disabled = 1;
  return attributes;
}

}  // namespace fbleprof::format
