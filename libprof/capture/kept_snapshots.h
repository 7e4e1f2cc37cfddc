// Snapshots that the program takes through the C API.
#pragma once

namespace fbleprof::capture {

// Returns 0, or -1 if nothing is recorded or there is no space. Any thread, but not signal
// handlers.
int take_snapshot(const char* name);
int count_anew();

}  // namespace fbleprof::capture
