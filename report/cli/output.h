// Where a report goes: to stdout or to the file of -o.
#pragma once

#include <string>

#include "base/result.h"

namespace fbleprof::report {

// Why `text` may not go there: binary data on a terminal. `file` is "" or "-" for stdout.
Status check_output(const std::string& file, bool is_binary);

// Writes all of `text`. A reader of stdout that went away (| head) is no failure. A file that could
// not be written whole is taken away again.
Status write_output(const std::string& file, const std::string& text);

// Shows text on a terminal through $PAGER (or less, which ends by itself where all fits); straight
// where there is no terminal or no pager, or PAGER is empty or "cat". The pager is run by the
// shell, as PAGER may hold options.
Status show_on_terminal(const std::string& text);

}  // namespace fbleprof::report
