// Times of a run without hooks, contexts and calls of a run with them.
//
// Hooks make small functions look larger than they are: a processor does the hook's work while it
// waits for the program's, and no sample can tell which of the two it fell on. A run of the same
// program without hooks knows what each function costs, and not from where how often. Put
// together, they tell both.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::transform {

struct TakenTimes {
  // Without the baseline's metrics, contexts, processes and threads; its other times, samples and
  // overhead are gone.
  profile::Profile profile;
  std::uint64_t total_ns = 0;
  // Of that, in functions that were not called in the run with hooks: the root has it.
  std::uint64_t elsewhere_ns = 0;
  // Of that, in functions that the run with hooks does not know: their nearest known callers have
  // it.
  std::uint64_t below_ns = 0;
  // The share of the time that is in other functions than in the run with hooks, 0 to 1, beyond
  // what hooks and chance explain.
  double moved = 0;
};

// `profile` is one tree, merged of a run with hooks and, as baseline (baseline.h), one without.
// What `base_time` charges to a function with hooks is spread over its contexts in the proportions
// of `time` (or of their calls, where it has none), and becomes `time`. So is what it charges to
// each function without hooks below one with hooks; if the run with hooks has no time of that pair,
// the one with hooks gets it. A function that only the baseline knows is taken for the one of that
// name that only the other run knows, with its parameters or without (perf writes none), whatever
// the module. Sums are exact. Processes and threads are those of `hooked`, the run with hooks
// before it was joined. Fails if no calls were counted, or if a metric is missing or is no time.
Result<TakenTimes> take_times(const profile::Profile& profile, const profile::Parts& hooked,
                              std::string_view time, std::string_view base_time);

}  // namespace fbleprof::transform
