// Events that libc reports to us, without a function to interpose on.
#pragma once

namespace fbleprof::preload {

// Makes libc report the end of the calling thread.
void watch_this_thread();
// Whether watch_this_thread works anywhere, in handlers and inside of an allocator too.
bool can_watch_anywhere();
// Makes libc report forks.
void watch_forks();

}  // namespace fbleprof::preload
