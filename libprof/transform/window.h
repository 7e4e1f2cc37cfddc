// What happened in a part of a run: between two snapshots, or between a snapshot and the end.
//
// "The last 10 seconds", "this phase only" and "at the peak" are all windows: the values of nodes
// and edges at one moment, minus those at an earlier one.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "profile/profile.h"

namespace fbleprof::transform {

// Whether the metric's values at two moments have a difference: a sum, but not a level, such as the
// memory in use.
bool adds_up(const profile::Metric& metric);

struct Window {
  // Indices into Profile::snapshots().
  std::optional<std::size_t> from;  // none: from the start
  std::optional<std::size_t> to;    // none: up to the end of the profile
};

// The profile of a window. Metrics that add up show what was added in the window; a level
// (Role::kLevel) and metrics that do not add up (Aggregation::kMax, kLast) show their value at the
// window's end. So a window from the start to a peak shows the state at the peak. The result shares
// everything with `source` except values and calls, and has no snapshots. Threads have the times
// and samples of the window; what they lost is that of the whole run.
profile::Profile window(const profile::Profile& source, const Window& which);

// The window since counting restarted (fbleprof_reset, `fble-prof ctl FILE reset`); the profile
// itself if it never did.
profile::Profile since_reset(const profile::Profile& source);

// The same window; if it has no start of its own, from where counting restarted last before its
// end.
Window from_reset(const profile::Profile& profile, Window which);

// The newest snapshot of that name; none: there is none.
std::optional<std::size_t> find_snapshot(const profile::Profile& profile, std::string_view name);
// The newest snapshot taken at most `ns` after the start; none: the first one is later.
std::optional<std::size_t> snapshot_at(const profile::Profile& profile, std::uint64_t ns);
// The newest snapshot at least `ns` older than the end of the profile; none: the profile is
// shorter.
std::optional<std::size_t> snapshot_before_end(const profile::Profile& profile, std::uint64_t ns);
// The newest snapshot that was taken for that reason.
std::optional<std::size_t> find_snapshot(const profile::Profile& profile,
                                         profile::SnapshotReason reason);

}  // namespace fbleprof::transform
