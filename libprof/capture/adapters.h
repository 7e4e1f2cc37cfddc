// The adapters of runtimes: libraries beside this one, each loaded only into programs of its
// runtime.
#pragma once

namespace fbleprof::capture {

// Whether the program is Python or has loaded it, and its scripts are to be shown.
bool is_python();

// Whether the program is the interpreter itself, and not a program that contains it.
bool is_python_itself();

// Loads the adapter of a runtime that is ready. The program calls a function that we interpose, in
// a thread that holds the runtime's lock.
void load_python_adapter();

}  // namespace fbleprof::capture
