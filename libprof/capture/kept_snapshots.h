// Snapshots that the program takes through the C API.
#pragma once

namespace fbleprof::capture {

// Returns 0, or -1 if nothing is recorded or there is no space. Any thread, but not signal
// handlers.
int take_snapshot(const char* name);
int count_anew();

// In a forked child, in which no other thread takes one.
void forget_snapshots_under_way();

}  // namespace fbleprof::capture
