// Facts about the recorded run for other formats: its program, its time, its sampling.
#pragma once

#include <cstdint>
#include <string>

#include "profile/profile.h"

namespace fbleprof::report {

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

}  // namespace fbleprof::report
