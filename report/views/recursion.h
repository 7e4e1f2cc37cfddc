// Names of cliques, for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/cliques.h"
#include "report/text/names.h"

namespace fbleprof::report {

// "none", "self", "single", "several" or "mutual".
std::string kind_name(analysis::Recursion recursion);

// "fib*", "(parse, expr, term, +2)*", "main": in at most about `width` columns, 0 = no limit.
std::string clique_label(const Names& names, const analysis::Clique& clique, std::size_t width);
// For programs: whole names, but only the first ones of a large clique.
std::string raw_label(const Names& names, const analysis::Clique& clique);

// Whether the counts of a member's calls are lower bounds.
bool counts_some_calls(const profile::Profile& profile, const analysis::Clique& clique);

// The most levels on a path; "≥" if folded recursion may have been deeper.
std::string depth_text(const analysis::Clique& clique);

}  // namespace fbleprof::report
