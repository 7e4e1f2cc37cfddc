// Whether the process of a profile without a recorded end is still running.
#pragma once

#include "format/format.h"
#include "profile/profile.h"

namespace fbleprof::profile {

// The state to show for a file's header; the file's host is `host`. Asks /proc when the file says
// "live"; kUnknown if this machine cannot know (another host or pid namespace).
ProcessState process_state(const format::Header& header, std::string_view host, bool ask_system);

}  // namespace fbleprof::profile
