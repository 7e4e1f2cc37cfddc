// Profiles within a process: trees in addition to the process's own, in the same file, with a
// label.
#pragma once

#include "capture/api.h"
#include "format/format.h"

namespace fbleprof::capture {

// The name of the profile that owns trees with this set of labels (String); 0 if none does.
format::Ref profile_name(format::Ref labels);

}  // namespace fbleprof::capture
