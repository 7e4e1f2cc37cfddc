// close_range(first, ~0u, 0) as all kernels can do it: Linux has that call since 5.9.
#pragma once

namespace fbleprof::signal_safe {

// Closes all descriptors of the process from `first`. Async-signal-safe, also in a child of vfork;
// leaves errno as it is.
void close_from(unsigned first);

}  // namespace fbleprof::signal_safe
