// Provides memory before it is first touched, so that a full disk or a limit gives an error and not
// a signal in the program.
#pragma once

#include <cstdint>

namespace fbleprof::signal_safe {

// Existing pages keep their contents, even while other threads write to them. False: there is no
// space. Any thread, hooks and handlers included; no lock.
bool populate(char* begin, std::uint64_t bytes);

}  // namespace fbleprof::signal_safe
