// A profile beside its baseline: what grew, what shrank, what is new, what is gone.
#pragma once

#include <string>

#include "report/text/input.h"
#include "report/views/tables.h"

namespace fbleprof::report {

// Both take the profile with the baseline's metrics in it (see transform/baseline.h). With
// `normalize` the baseline's costs, not its calls, are scaled to the new total.

// The tree, with the change of each context; most changed branches first. Branches that changed by
// less than --min of the larger total are left out. CSV: depth,name,base,now,...
std::string diff_tree(const Input& input, bool normalize);

// A row a function, by how much its self or dominated cost changed. CSV: name,base_self,self,...
std::string diff_table(const Input& input, FunctionOrder order, bool normalize);

}  // namespace fbleprof::report
