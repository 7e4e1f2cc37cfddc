// From a profile to what is sent of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/result.h"
#include "report/push/last_push.h"
#include "report/push/options.h"
#include "report/push/request.h"

namespace fbleprof::push {

struct Prepared {
  std::optional<Upload> upload;      // none: nothing new since the last push
  LastPush now;                      // to be remembered once the upload was taken
  std::string state_file;            // "" = nothing is to be remembered
  std::vector<std::string> remarks;  // for the user, one line each
};

// Reads, names, merges, takes off what was sent before, prunes, packs.
Result<Prepared> prepare(const Options& options, Progress* progress);

}  // namespace fbleprof::push
