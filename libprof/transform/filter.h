// The lists to select, exclude and fold, which every view and export takes, and the query language.
//
// Selection and exclusion look at whole, unfolded paths: what is charged to a path stays if the
// path holds a match of every selected pattern and none of an excluded one. Folding comes last: a
// match is taken out of all paths, a -> X -> y becomes a -> y, and X's cost goes to its caller a. A
// path that folds away entirely is charged to [folded], never dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/origin.h"
#include "profile/profile.h"

namespace fbleprof::transform {

struct Filter {
  std::vector<std::string> select, exclude, fold;  // patterns, see matcher.h
  std::vector<std::string> keep;                   // queries, see query.h; all of them must hold
  std::string metric;                              // what thresholds in queries are of

  bool empty() const { return select.empty() && exclude.empty() && fold.empty() && keep.empty(); }
};

struct Filtered {
  profile::Profile profile;
  // Compacted recursion crosses the border of what was selected or excluded: some cost behind a
  // back edge is charged to a path that looks different. Figures are then bounds.
  bool is_bound = false;
  // Where its contexts come from; empty if the filter is.
  profile::Origin origin;
};

// `profile` must be merged (one tree). Fails on an invalid pattern or query, or one that matches
// nothing.
Result<Filtered> filter(const profile::Profile& profile, const Filter& filter);

}  // namespace fbleprof::transform
