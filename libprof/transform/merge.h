// Merges the trees of all threads and processes into one tree, by path.
#pragma once

#include <vector>

#include "profile/profile.h"
#include "transform/counterparts.h"
#include "transform/grouping.h"
#include "transform/same_module.h"

namespace fbleprof::transform {

struct MergeOptions {
  std::vector<Split> splits;  // groups that stay apart, outermost first
  // Keep sampled addresses as children of the function that was running; else their samples are its
  // self.
  bool keep_leaves = false;
  // Modules to treat under another name.
  ModuleAliases aliases;
  // Processes and threads of several runs that share a group.
  Counterparts counterparts;
};

// The same profile, marked so that every later step keeps contexts apart by call site.
profile::Profile with_sites_apart(const profile::Profile& profile);

// Functions that are the same (see identity.h) become one, also those of two builds of a module
// (see same_module.h). Functions without names at different addresses or in different builds stay
// apart. Then nodes of the same path become one. The result has one tree; below its root, each
// split adds a level of groups (profile::Group). A warning is added about functions that could not
// be told from others of their name.
profile::Profile merge(const profile::Profile& profile, const MergeOptions& options = {});

}  // namespace fbleprof::transform
