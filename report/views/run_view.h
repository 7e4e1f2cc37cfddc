// What was run and how it was recorded: the summary, the threads, the lines above the tree.
#pragma once

#include <string>

#include "profile/profile.h"
#include "report/text/input.h"

namespace fbleprof::report {

// All of these take the profile as read: unmerged, with a tree a thread.

// The line or two above the default view: what ran, how long, at which rate, at what cost.
std::string heading(const profile::Profile& profile, const Look& look);

// --summary. JSON: one object; of several files, their sums and "processes", an array of the same.
std::string summary_view(const profile::Profile& profile, const Look& look);

// --threads: a row a thread (or chain of threads that shared a tree).
std::string thread_view(const profile::Profile& profile, const Look& look);

// Of several files: what each has of the metric. Empty for one.
std::string process_split(const profile::Profile& profile, const profile::Metric& metric,
                          const Look& look);

// The metric that the profile's clock measures; the first that is not empty, if that is.
std::string default_metric(const profile::Profile& profile);

}  // namespace fbleprof::report
