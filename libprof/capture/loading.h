// The code of modules that are loaded is made to call hooks: rewritten (exact.h), or through the
// sites that compilers left (switching.h).
#pragma once

namespace fbleprof::capture {

// Prepares the modules that are loaded, and watches for new ones. Before the program's first
// constructor.
void prepare_modules();

// In a forked child with its own file: its modules were prepared by the parent.
void recognize_prepared();

}  // namespace fbleprof::capture
