// Makes the code of loaded modules call hooks: by rewriting it (exact.h), or through the sites that
// compilers left (switching.h).
#pragma once

namespace fbleprof::capture {

// Prepares the modules that are loaded, and watches for new ones. Call it before the program's
// first constructor.
void prepare_modules();

// In a forked child with its own file: its parent already prepared these modules.
void recognize_prepared();

}  // namespace fbleprof::capture
