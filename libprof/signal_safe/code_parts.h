// Parts of functions that the compiler put elsewhere: unlikely code (.cold), catch blocks. Each has
// an unwind entry of its own and no hook, as a function without hooks has.
#pragma once

#include "format/format.h"

namespace fbleprof::signal_safe {

// Whether `part`, code without a hook, is a piece of `whole`. Two things tell:
//  - every function begins with the frame of a call, in which the return address is on top of the
//    stack. Code that begins with another frame was jumped to from inside a function;
//  - a piece that does begin so is reached by direct jumps of the function that it belongs to.
// True if neither can be known. Reads the code of `whole`, up to 64 kB of it (some 20 us): remember
// the answer. Any thread, hooks and handlers included; no lock.
bool is_part_of_function(const format::Function& part, const format::Function& whole);

}  // namespace fbleprof::signal_safe
