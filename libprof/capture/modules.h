// The program and its libraries, as the loader has them.
#pragma once

namespace fbleprof::capture {

// Registers the modules loaded at the start of a profile. Does not take the loader's lock: a forked
// child may have inherited it from a thread that does not exist in the child.
void add_loaded_modules();

// Registers modules that the loader has mapped since, but not yet relocated. Call while it is in a
// consistent state.
void add_mapped_modules();

// After dlclose: forgets code that is gone.
void note_unloading();

}  // namespace fbleprof::capture
