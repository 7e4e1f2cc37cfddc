// Names made safe to print.
//
// Whatever a profiled program called its functions, threads and arguments ends up on somebody's
// terminal or in a page. Control characters could move the cursor or set colours, bidirectional
// ones could show a name that is another, and broken UTF-8 breaks what comes after it.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof::report {

// Valid UTF-8 without control, bidirectional or invisible characters: those become \n, \x1b,
// \u202e. Bytes that are no UTF-8 become \xff. Everything else stays.
std::string escape(std::string_view text);

// The number of columns that escaped text takes.
std::size_t width_of(std::string_view text);

// `text` in at most `width` columns, its end replaced by an ellipsis if it is longer.
std::string cut(std::string_view text, std::size_t width);

// `text` and blanks, to `width` columns at least.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

}  // namespace fbleprof::report
