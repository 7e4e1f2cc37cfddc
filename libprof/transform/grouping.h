// What keeps trees apart when they are merged into one: the nodes that then stand between the root
// and what each tree held.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::transform {

struct Split {
  enum class By { kProcess, kThread, kHost, kFile, kLabel } by = By::kProcess;
  std::string label;  // the key, of kLabel

  friend bool operator==(const Split&, const Split&) = default;
};

// Reads "process", "thread", "host", "file" or "label:KEY".
Result<Split> parse_split(const std::string& text);

// The names of the nodes above what `tree` holds, outermost first. A tree that is of no process any
// more, having been merged, has none: its nodes are below such nodes already.
std::vector<std::string> group_names(const profile::Profile& profile, const profile::Tree& tree,
                                     const std::vector<Split>& splits);

}  // namespace fbleprof::transform
