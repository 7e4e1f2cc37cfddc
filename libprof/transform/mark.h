// A moment of a run that was taken down by reading its file, not by the program: what the file held
// then becomes a snapshot of what it holds now.
#pragma once

#include <optional>
#include <string>

#include "profile/profile.h"

namespace fbleprof::transform {

// `now`, with one snapshot called `name`: the values of `then`, which was read from the same file
// earlier. Both are as the reader made them. Snapshots that `now` has are dropped. Nothing if they
// are not of one run.
std::optional<profile::Profile> with_mark(const profile::Profile& now, const profile::Profile& then,
                                          const std::string& name);

}  // namespace fbleprof::transform
