// From the trees of all threads and processes to one tree, by path.
#pragma once

#include <vector>

#include "profile/profile.h"
#include "transform/grouping.h"
#include "transform/same_module.h"

namespace fbleprof::transform {

struct MergeOptions {
  std::vector<Split> splits;  // groups that stay apart, outermost first
  // Keep sampled addresses as children of the function that was running; else they are its self.
  bool keep_leaves = false;
  // Modules that go by another name.
  ModuleAliases aliases;
};

// The same profile, whose contexts stay apart by call site in every step that follows.
profile::Profile with_sites_apart(const profile::Profile& profile);

// Functions that are the same (see identity.h) become one, also those of two builds of a module
// (see same_module.h); nameless ones of different addresses or builds do not. Then nodes of the
// same path are one. The result has one tree; below its root, for each split, a level of groups
// (profile::Group).
profile::Profile merge(const profile::Profile& profile, const MergeOptions& options = {});

}  // namespace fbleprof::transform
