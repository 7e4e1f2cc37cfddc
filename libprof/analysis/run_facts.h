// The figures of a run, from the records of its process and threads.
#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace fbleprof::analysis {

struct RunFacts {
  std::uint64_t threads = 0;  // all that ever ran
  std::uint64_t trees = 0, node_count = 0, edge_count = 0;
  std::uint64_t deepest = 0;
  std::uint64_t cpu_ns = 0, wall_ns = 0;  // clocks of the threads, with the profiler's overhead
  std::uint64_t unrecorded_ns = 0;        // CPU time of the processes that no sample has charged
  std::uint64_t samples = 0, dropped = 0;
  std::uint64_t charged_ends =
      0;  // of the samples: charges at the ends of threads, without a signal
  std::uint64_t overhead_ns = 0, calls = 0, ticks = 0;
  std::uint64_t threads_left_out = 0;  // by the user's filter
  std::uint64_t lost_calls = 0, deep_calls = 0, unmatched = 0;
  std::uint64_t hooked_threads = 0;
  // Some of it is another tool's, or an export: its samples and its cost need not be those of its
  // CPU time, which may be only the part that was exported.
  bool is_imported = false;
  // Whether the overhead is a part of the CPU time.
  bool knows_cost() const { return !is_imported && overhead_ns <= cpu_ns && cpu_ns != 0; }
};

// The total of a metric in a tree, also in one without nodes; 0 if the metric is null.
std::uint64_t tree_total(const profile::Profile& profile, const profile::Metric* metric,
                         const profile::Tree& tree);
// The same of a process, also if its trees were merged with those of others.
std::uint64_t process_total(const profile::Profile& profile, const profile::Metric& metric,
                            profile::ProcessId process);
std::uint64_t node_count_of(const profile::Tree& tree);

// Of one process; of all of them with ProcessId::none().
RunFacts run_facts(const profile::Profile& profile, profile::ProcessId process);

// Samples taken per second of CPU time; 0 = none, or not known.
std::uint64_t reached_hz(const RunFacts& facts);

}  // namespace fbleprof::analysis
