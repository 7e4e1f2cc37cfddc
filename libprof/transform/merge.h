// From the trees of all threads and processes to one tree, by path.
#pragma once

#include <vector>

#include "profile/profile.h"
#include "transform/grouping.h"
#include "transform/same_module.h"

namespace fbleprof::transform {

enum class GroupBy { kNothing, kProcess, kThread, kProcessAndThread };

struct MergeOptions {
  GroupBy group_by = GroupBy::kNothing;
  std::vector<Split> splits;  // further ones, above those of group_by
  // Keep sampled addresses as children of the function that was running; else they are its self.
  bool keep_leaves = false;
  // Keep contexts that were entered from different call sites apart.
  bool keep_sites = false;
  // Modules that go by another name.
  ModuleAliases aliases;
};

// What splits and group_by ask for together, outermost first.
std::vector<Split> all_splits(const MergeOptions& options);

// Functions of the same name in the same module are one, also of two builds of it (see
// same_module.h), and with the parts that a compiler split off; and so is one of an unknown module
// with the only other of its name. Static functions that merely share a name are not, nor are
// nameless ones of different addresses or builds. Then nodes of the same path are one. The result
// has one tree; under its root, if asked for, a node a process, thread, ...
profile::Profile merge(const profile::Profile& profile, const MergeOptions& options = {});

}  // namespace fbleprof::transform
