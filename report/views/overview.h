// --overview: one screen of 80 x 24 that says where to look first.
#pragma once

#include <string>
#include <vector>

#include "report/text/input.h"

namespace fbleprof::report {

// What the overview takes from the profile as read, before threads are merged.
struct RunOverview {
  struct Share {
    std::string name;  // escaped
    std::uint64_t cost = 0;
  };
  std::string heading;         // lines
  std::vector<Share> threads;  // dearest first
  std::uint64_t all_threads = 0;
  std::vector<std::string> losses;    // a line each, escaped
  std::vector<std::string> warnings;  // likewise
};

RunOverview run_overview(const profile::Profile& as_read, const profile::Metric& metric,
                         const Look& look);

std::string overview(const Input& input, const RunOverview& run);

}  // namespace fbleprof::report
