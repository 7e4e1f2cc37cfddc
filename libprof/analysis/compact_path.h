// A long path in short: what repeats on it stands once.
//
// Where a function stands more than once on a path, everything between its first and its last place
// is one stretch of recursion; stretches that overlap are one. Such a stretch becomes the functions
// that stand in it, each once, in the order in which they come: a b c b d e e f is
// a (b c)* d e* f. What is lost is how often and in which order they took turns, which the pair
// rule has folded away anyway.
#pragma once

#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

struct PathPart {
  std::vector<profile::FunctionId> functions;
  bool repeats = false;  // else there is one function
};

std::vector<PathPart> compact_path(const std::vector<profile::FunctionId>& path);

// The functions from below the root to `node`, outermost first.
std::vector<profile::FunctionId> path_to(const profile::Profile& profile, profile::NodeId node);

}  // namespace fbleprof::analysis
