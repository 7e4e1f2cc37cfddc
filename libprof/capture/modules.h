// The program and its libraries, as the loader has them.
#pragma once

namespace fbleprof::capture {

// Registers what is loaded when a profile starts. Takes no lock of the loader: a forked child may
// have inherited it from a thread that it has not.
void add_loaded_modules();

// After dlclose: forgets code that is gone.
void note_unloading();

}  // namespace fbleprof::capture
