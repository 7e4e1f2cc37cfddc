// Names of generated code from GDB's interface: __jit_debug_descriptor leads to a list of ELF
// objects in memory, whose symbols name the code that is registered at that moment.
#pragma once

#include "capture/generated_functions.h"

namespace fbleprof::capture {

// Finds nothing if the program, or a library, has the descriptor but does not export it. Not in
// handlers: reads the loader's list. Other threads may change the objects meanwhile; what cannot
// be read has no name.
void name_by_gdb_interface(GeneratedFunctions& functions);

}  // namespace fbleprof::capture
