// Who held memory when most of it was in use.
#pragma once

#include "profile/profile.h"

namespace fbleprof::transform {

// The name of the metric that with_peak adds.
inline constexpr char kPeakMetric[] = "peak";

// A profile with its snapshot of the peak as a metric: what each context held then. The same
// profile if there is no such snapshot, or no metric of live bytes.
profile::Profile with_peak(const profile::Profile& profile);

}  // namespace fbleprof::transform
