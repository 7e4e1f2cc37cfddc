// Turns a profile into a request to a server.
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
  LastPush now;                      // to be stored after a successful upload
  std::string state_file;            // "" = nothing is to be stored
  std::vector<std::string> remarks;  // for the user, one line each
};

// Reads, names, merges, subtracts what was sent before, prunes, compresses.
Result<Prepared> prepare(const Options& options, Progress* progress);

}  // namespace fbleprof::push
