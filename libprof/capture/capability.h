// What the calling thread may do beyond other threads.
#pragma once

namespace fbleprof::capture {

// Whether one of CAP_* is in effect. Async-signal-safe.
bool has_capability(unsigned number);

}  // namespace fbleprof::capture
