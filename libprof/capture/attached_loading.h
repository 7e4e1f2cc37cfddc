// Exact counts of libraries that a program loads after `fble-prof attach --exact`.
//
// The loader calls us as in programs that were started with the recorder (loading.h): fble-prof
// writes the jump at that place together with the other changes of text, and takes it back with
// them.
#pragma once

namespace fbleprof::capture {

// Prepares that, or makes fble-prof take it back. False: libraries loaded later are only sampled.
bool watch_loading(bool is_wanted);

// Call it when fble-prof has changed the text. What is loaded by now stays as it is.
void pass_over_loaded_modules();

}  // namespace fbleprof::capture
