// --by: a table of modules, files, namespaces, classes, or of threads, processes, hosts, ranks and
// labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/text/input.h"
#include "transform/merge.h"

namespace fbleprof::report {

// Whether `what` is one of module, file, namespace, class, thread, process, host, rank, label:KEY.
bool is_rollup(std::string_view what);

// What keeps trees apart while they are merged, so that the table can tell them.
std::vector<transform::Split> rollup_splits(std::string_view what);

// `input` holds a profile merged with those. CSV: name,self,dominated,calls,...
std::string rollup_view(const Input& input, const std::string& what);

}  // namespace fbleprof::report
