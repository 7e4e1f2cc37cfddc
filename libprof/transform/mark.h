// Marks a moment of a run by reading its file, without the program's help: the file's earlier
// contents become a snapshot in the later profile.
#pragma once

#include <optional>
#include <string>

#include "profile/profile.h"

namespace fbleprof::transform {

// `now`, with one snapshot called `name`: the values of `then`, read earlier from the same file.
// Both are as the reader made them. Snapshots that `now` has are dropped. Nothing if the two are
// not of one run.
std::optional<profile::Profile> with_mark(const profile::Profile& now, const profile::Profile& then,
                                          const std::string& name);

}  // namespace fbleprof::transform
