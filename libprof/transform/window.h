// What happened in a part of a run: between two snapshots, or between one and now.
//
// "The last 10 seconds", "this phase only" and "at the peak" are all windows: what nodes and edges
// hold at one moment, less what they held at an earlier one.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "profile/profile.h"

namespace fbleprof::transform {

struct Window {
  // Indices into Profile::snapshots().
  std::optional<std::size_t> from;  // none: from the start
  std::optional<std::size_t> to;    // none: up to what the profile holds now
};

// The profile of a window. What adds up is what was added in it; a level (Role::kLevel) and what
// does not add up (Aggregation::kMax, kLast) is as it was at the window's end. So a window that
// ends at a peak and begins at the start shows what was there at the peak. The result shares all of
// `source` but values and calls, and has no snapshots. Threads' clocks stay those of the whole run.
profile::Profile window(const profile::Profile& source, const Window& which);

// What was added since counting began anew (fbleprof_reset, `fble-prof ctl FILE reset`); the
// profile itself, if it never did.
profile::Profile since_reset(const profile::Profile& source);

// The newest snapshot of that name; none: there is none.
std::optional<std::size_t> find_snapshot(const profile::Profile& profile, std::string_view name);
// The newest snapshot that was there `ns` after the start; none: the first one is younger.
std::optional<std::size_t> snapshot_at(const profile::Profile& profile, std::uint64_t ns);
// The newest snapshot that is at least `ns` older than the end of the profile; none: the profile is
// younger than that.
std::optional<std::size_t> snapshot_before_end(const profile::Profile& profile, std::uint64_t ns);
// The newest snapshot that was taken for that reason.
std::optional<std::size_t> find_snapshot(const profile::Profile& profile,
                                         profile::SnapshotReason reason);

}  // namespace fbleprof::transform
