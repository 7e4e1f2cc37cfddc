// Whether the process of a profile that never said its end still runs.
#pragma once

#include "format/format.h"
#include "profile/profile.h"

namespace fbleprof::profile {

// The state to show for a header as it stands in the file, whose host is `host`. Asks /proc when
// the file says "live"; kUnknown where this machine cannot know (another host or pid namespace).
ProcessState process_state(const format::Header& header, std::string_view host, bool ask_system);

}  // namespace fbleprof::profile
