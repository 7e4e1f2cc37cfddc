// The input of views: files that were read, named and merged, before any filter.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"
#include "transform/moments.h"

namespace fbleprof::report {

struct Loaded {
  profile::Profile profile;  // one tree, with the metrics of a baseline if there is one
  profile::Profile runs;     // as recorded, without contexts (transform/outline.h)
  std::string metric;        // what is shown
  std::vector<transform::Moment> moments;  // of all files, for any chosen window
  std::vector<std::string> remarks;        // warnings, not escaped
  // For views of runs: the sampled runs in the files (--runs 2), in the order of the processes that
  // have one. Empty: not read.
  profile::Profile sampled_runs;
  // There are times of a sampled run: in the files (--runs 2) or beside them (--times-from).
  bool has_sampled_times = false;
};

}  // namespace fbleprof::report
