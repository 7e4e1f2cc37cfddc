// A long path in short form: each repeated function appears once.
//
// Where a function occurs more than once on a path, everything from its first to its last
// occurrence is one stretch of recursion; stretches that overlap are one. Such a stretch becomes
// its functions, each once, in order of their first occurrence: a b c b d e e f is a (b c)* d e* f.
// Lost are the number and order of repetitions, which the pair rule has folded away anyway.
#pragma once

#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

struct PathPart {
  std::vector<profile::FunctionId> functions;
  bool repeats = false;  // else there is one function
};

std::vector<PathPart> compact_path(const std::vector<profile::FunctionId>& path);

// The functions on the path to `node`, without the root, outermost first.
std::vector<profile::FunctionId> path_to(const profile::Profile& profile, profile::NodeId node);

}  // namespace fbleprof::analysis
