// What the constructor needs of each file of interposers.
#pragma once

namespace fbleprof::preload {

// Finds the functions interposed on, before anything may call them in a handler.
void resolve_loader();
void resolve_processes();
void resolve_signals();
void resolve_threads();

// Has the calling thread's end noticed.
void watch_this_thread();
// Has forks noticed.
void watch_forks();

}  // namespace fbleprof::preload
