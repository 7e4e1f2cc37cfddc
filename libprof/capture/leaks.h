// What is still allocated when a process ends.
#pragma once

namespace fbleprof::capture {

// Charges each block that is still allocated to where it was allocated, as leaked. If each
// allocation was recorded, those that are reachable from nowhere are charged as lost, too. At the
// process's exit, on any stack; other threads may still run.
void charge_leaks();

}  // namespace fbleprof::capture
