// The command that shows a page's content in a terminal.
#pragma once

#include <string>

#include "report/web/site.h"

namespace fbleprof::web {

std::string command_line(const Page& page);

}  // namespace fbleprof::web
