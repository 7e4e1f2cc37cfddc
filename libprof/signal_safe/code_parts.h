// Parts of functions that the compiler put in other places: unlikely code (.cold), catch blocks.
// Each has its own unwind entry and no hook, like a function without hooks.
#pragma once

#include "format/format.h"

namespace fbleprof::signal_safe {

// Whether `part`, code without a hook, is a piece of `whole`. Two facts decide:
//  - every function begins with the frame of a call, in which the return address is on top of the
//    stack. Code that begins with another frame was jumped to from inside a function;
//  - a piece that begins with the frame of a call is reached by direct jumps of its function.
// True if neither fact can be known. Reads the code of `whole`, up to 64 kB (about 20 us): remember
// the answer. Any thread, hooks and handlers included; no lock.
bool is_part_of_function(const format::Function& part, const format::Function& whole);

}  // namespace fbleprof::signal_safe
