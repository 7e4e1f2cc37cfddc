// The lines above the tree and the overview. Both take the runs as recorded, one tree per thread.
#pragma once

#include <string>

#include "analysis/run_facts.h"
#include "profile/profile.h"
#include "report/text/look.h"

namespace fbleprof::report {

// A few lines: what ran, how long, at which rate, at what cost, and whether counting may have
// distorted the times. `has_sampled_times`: the user has, or sees, those of a sampled run.
std::string heading(const profile::Profile& runs, bool has_sampled_times, const Look& look);

// The same, with a line if much of the CPU time was not sampled.
std::string heading_with_loss(const profile::Profile& runs, bool has_sampled_times,
                              const Look& look);
// That much of the CPU time was not sampled; empty if it was not much.
std::string unrecorded_text(const analysis::RunFacts& run);

// For several files: each one's amount of the metric. Empty for one.
std::string process_split(const profile::Profile& runs, const profile::Metric& metric,
                          const Look& look);

}  // namespace fbleprof::report
