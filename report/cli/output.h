// Writes a report to stdout or to the file of -o.
#pragma once

#include <string>

#include "base/result.h"

namespace fbleprof::report {

// Why `text` must not go there: binary data on a terminal. `file` is "" or "-" for stdout.
Status check_output(const std::string& file, bool is_binary);

// Writes all of `text`. A reader of stdout that stops early (| head) is not an error. A file that
// could not be written completely is removed.
Status write_output(const std::string& file, const std::string& text);

// Shows text on a terminal through $PAGER (or less, which exits at once if everything fits); writes
// directly if there is no terminal or no pager, or PAGER is empty or "cat". The shell runs the
// pager, as PAGER may hold options.
Status show_on_terminal(const std::string& text);

}  // namespace fbleprof::report
