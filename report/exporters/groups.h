// The levels that --split-by thread and --split-by process put below the root.
#pragma once

#include "profile/profile.h"
#include "transform/merge.h"

namespace fbleprof::report {

enum class Group { kNone, kProcess, kThread };

// By node: what it stands for. A function of the program stands for kNone.
std::vector<Group> groups(const profile::Profile& profile, transform::GroupBy by);

}  // namespace fbleprof::report
