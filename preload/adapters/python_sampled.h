// Sampled: the reader of the interpreter's frames, which runs in the signal handler.
#pragma once

#include "adapters/python_interpreter.h"

namespace fbleprof::adapters::python {

// As fbleprof_read_stack requires. Reports nothing while calls are counted.
int read_frame(void* state, fbleprof_frame* out);

// Whether the frames of running functions have the structures of the table; true if no function
// runs. Any thread, without the interpreter's lock: it only reads.
bool is_running_code_known();

}  // namespace fbleprof::adapters::python
