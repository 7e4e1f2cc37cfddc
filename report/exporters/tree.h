// What several exporters ask of a profile's tree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "report/exporters/exporter.h"

namespace fbleprof::report {

// By function, for those that stand in the tree: what people call it, escaped (see escape.h).
// Functions that don't stand in it have no name here.
std::vector<std::string> function_names(const profile::Profile& profile);

// The same for formats that tell a function by its name alone: those of one name are told apart by
// their module, file or address, as "helper [libfoo.so]".
std::vector<std::string> distinct_names(const profile::Profile& profile);

// The metrics that may be added up over paths, which is what every other tool does: peaks may not.
// The one chosen by the user is the first of them, if it is one.
std::vector<const profile::Metric*> additive_metrics(const Export& input);

// An error if the chosen metric may not be added up.
Status check_additive(const Export& input, std::string_view format);

// The metric by which the first process was sampled, and its period in ns. No metric: there is
// none, or the period is unknown.
struct Sampling {
  const profile::Metric* metric = nullptr;
  std::int64_t period_ns = 0;
};
Sampling sampling_of(const profile::Profile& profile);

// The command line of the first process, escaped; "" if unknown.
std::string command_line(const profile::Profile& profile);

// The program of the first process that names one, without its folders, escaped; else "unknown".
std::string program_name(const profile::Profile& profile);

// The start of the earliest process, in ns since 1970; 0 = unknown.
std::uint64_t start_realtime_ns(const profile::Profile& profile);
// From the start to the end of the longest process.
std::uint64_t duration_ns(const profile::Profile& profile);

// Whether a sampled address lies in the function that its context is of already: then it says
// where in that function time went, and is no call.
bool is_place_in_parent(const profile::Profile& profile, profile::NodeId node);

// The group that a node stands for; null: it is a function of the program.
const profile::Group* group_of(const profile::Profile& profile, profile::NodeId node);

// The nearest function above `node`, or `node` itself, that was not inlined into its caller.
profile::NodeId physical_frame(const profile::Profile& profile, profile::NodeId node);

}  // namespace fbleprof::report
