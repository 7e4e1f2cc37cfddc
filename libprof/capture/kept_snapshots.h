// Snapshots that the program itself takes, by the C API.
#pragma once

namespace fbleprof::capture {

// 0, or -1: nothing is recorded, or there is no space. Any thread, but not in a signal handler.
int take_snapshot(const char* name);
int count_anew();

}  // namespace fbleprof::capture
