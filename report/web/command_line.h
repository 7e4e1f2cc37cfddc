// The command that shows in a terminal what a page shows.
#pragma once

#include <string>

#include "report/web/site.h"

namespace fbleprof::web {

std::string command_line(const Page& page);

}  // namespace fbleprof::web
