// Finds the blocks that are still allocated when a process ends.
#pragma once

namespace fbleprof::capture {

// Charges each block that is still allocated to the context that allocated it, as leaked. If all
// allocations were recorded, also charges those that are reachable from nowhere as lost. Call it at
// the process's exit, on any stack; other threads may still run.
void charge_leaks();

}  // namespace fbleprof::capture
