// The adapters of runtimes: libraries beside this one, each loaded only into a program that is that
// runtime.
#pragma once

namespace fbleprof::capture {

// Whether the program is Python, or has it loaded, and its scripts are to be shown.
bool is_python();

// Whether the program is the interpreter, and not one that contains it.
bool is_python_itself();

// Loads the adapter of a runtime that is up. The program calls what we interpose, in a thread that
// holds the runtime's lock.
void load_python_adapter();

}  // namespace fbleprof::capture
