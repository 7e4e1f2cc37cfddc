// Combines the times of a run without hooks with the contexts and calls of a run with them.
//
// Hooks make small functions look larger than they are: a processor does the hook's work while it
// waits for the program's, and no sample can tell which of the two it fell on. A run of the same
// program without hooks knows what each function costs, but not its callers or how often they
// called. The two runs together tell both.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::transform {

struct TakenTimes {
  // Without the baseline's metrics, contexts, processes and threads; its time by another clock, its
  // overhead and (but for with_samples) its samples are gone. Waits and lifetimes are those of the
  // run with hooks.
  profile::Profile profile;
  std::uint64_t total_ns = 0;
  // Of that, in functions that were not called in the run with hooks: charged to the root.
  std::uint64_t elsewhere_ns = 0;
  // Of that, in functions that the run with hooks does not know: charged to their nearest known
  // callers.
  std::uint64_t below_ns = 0;
  // The share of the time that is in other functions than in the run with hooks, 0 to 1, beyond
  // what hooks and chance explain.
  double moved = 0;
};

// `profile` is one tree, merged from a run with hooks and, as baseline (baseline.h), one without.
// The amount that `base_time` charges to a function with hooks is spread over its contexts in
// proportion to `time` (or to their calls, where it has none), and becomes `time`. The same is done
// for each function without hooks below one with hooks; if the run with hooks has no time of that
// pair, the function with hooks gets the amount. A function that only the baseline knows is matched
// with the function of that name that only the other run knows, with its parameters or without
// (perf writes none), in any module. Sums are exact. Processes and threads are those of `hooked`,
// the run with hooks before it was joined. Fails if no calls were counted, or if a metric is
// missing or is not a time.
//
// What was joined as unchanged (baseline.h), too, is of a run without counterpart: its calls weigh
// nothing, and its part of `time` stays where it is.
//
// with_samples: the samples of the run without hooks, on which its times rest, are spread in the
// same way and take the place of the other run's.
Result<TakenTimes> take_times(const profile::Profile& profile, const profile::Parts& hooked,
                              std::string_view time, std::string_view base_time,
                              bool with_samples = false);

}  // namespace fbleprof::transform
