// Exact counts, and filters, of libraries that a program loads after `fble-prof attach`.
//
// The loader calls us as in programs that were started with the recorder (loading.h): fble-prof
// writes the jump at that place together with the other changes of text, and takes it back with
// them.
#pragma once

namespace fbleprof::capture {

// Prepares exact counts if they are wanted, and filters if there are any. False: libraries loaded
// later are only sampled.
bool watch_loading(bool is_counting_wanted);
// The same for filters alone. Counts that fble-prof has not taken back go on.
void watch_loading_to_filter();

// Call it when fble-prof has changed the text. What is loaded by now stays as it is.
void pass_over_loaded_modules();

}  // namespace fbleprof::capture
