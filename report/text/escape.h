// Names made safe to print.
//
// The names of a profiled program's functions, threads and arguments are shown on terminals and in
// pages. Control characters could move the cursor or set colours, bidirectional ones could disguise
// a name, and invalid UTF-8 breaks the text after it.
#pragma once

#include <string>
#include <string_view>

#include "base/safe_text.h"
#include "names/shorten.h"

namespace fbleprof::report {

using fbleprof::escape;
using names::cut;
using names::width_of;

// `text` padded with blanks to at least `width` columns.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

}  // namespace fbleprof::report
