// What has to be asked of libc rather than stood in front of.
#pragma once

namespace fbleprof::preload {

// Has the calling thread's end noticed.
void watch_this_thread();
// Has forks noticed.
void watch_forks();

}  // namespace fbleprof::preload
