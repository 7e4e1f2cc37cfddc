#pragma once

#include <string>
#include <string_view>

namespace fbleprof::report {

// `data` as a gzip file; equal data gives equal bytes. Throws std::bad_alloc.
std::string gzip(std::string_view data);

}  // namespace fbleprof::report
