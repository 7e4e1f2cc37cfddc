// --throttle: takes back the hooks of functions that are called too often (call_rates.h).
//
// The call of the hook, in the function's trampoline or at its hook site, is switched off by one
// byte, as all sites are when recording stops (arch/hook_site.h); so threads may run through it
// meanwhile. A rewritten function keeps its jump to the trampoline: the jump's five bytes cannot be
// replaced while threads run.
#pragma once

namespace fbleprof::capture {

// From now on, samples take back hooks, if the settings say so.
void begin_throttling();

// In a forked child with its own file: notes what its parent had taken back.
void recognize_throttled();

}  // namespace fbleprof::capture
