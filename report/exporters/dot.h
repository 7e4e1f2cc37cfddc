// The call graph in graphviz's language, which svg draws.
#pragma once

#include <string>

#include "report/exporters/exporter.h"

namespace fbleprof::report {

Result<std::string> write_dot(const Export& input);

}  // namespace fbleprof::report
