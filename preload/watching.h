// Events that libc reports to us, without a function to interpose on.
#pragma once

namespace fbleprof::preload {

// Makes libc report the end of the calling thread.
void watch_this_thread();
// Makes libc report forks.
void watch_forks();

}  // namespace fbleprof::preload
