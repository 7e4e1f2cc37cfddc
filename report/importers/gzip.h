// gzip in memory.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fbleprof::importers {

// The decompressed content of `bytes` (one or more gzip members). Profiles compress to about a
// tenth; content of more than 64 MiB and 256 times the compressed size is refused, so that a small
// file cannot take much memory.
Result<std::string> gunzip(std::string_view bytes, const std::string& name);

}  // namespace fbleprof::importers
