#pragma once

#include <string>
#include <string_view>

namespace fbleprof::report {

// `data` as a gzip file, the same bytes at every time. Throws std::bad_alloc.
std::string gzip(std::string_view data);

}  // namespace fbleprof::report
