// gzip in memory.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fbleprof::importers {

// What `bytes` (one or more gzip members) expand to. Profiles shrink to a tenth or so; what expands
// to more than 64 MiB and 256 times its size is refused, so that a small file takes little memory.
Result<std::string> gunzip(std::string_view bytes, const std::string& name);

}  // namespace fbleprof::importers
