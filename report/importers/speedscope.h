// speedscope's JSON, as https://www.speedscope.app and many profilers write it.
//
// Our own exports hold a profile for each metric: when read, they become metrics, and "calls"
// become calls. Other programs write a profile for each thread, in one unit: those become threads.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::importers {

// Whether a text with this beginning is a speedscope file: it names the format's schema.
bool is_speedscope(std::string_view head);

Result<profile::Profile> parse_speedscope(std::string_view text, const std::string& name);

}  // namespace fbleprof::importers
