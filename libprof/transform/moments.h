// The moments of a run as users name them in --window.
//
//     loaded        the newest snapshot of that name
//     #3            the third snapshot
//     peak          the newest one that was taken because a level was higher than ever before
//     10s, -500ms   the newest one at or before 10 s after the start, 500 ms before the end
//     start, end    where the profile begins and ends; an empty name means the same
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "transform/window.h"

namespace fbleprof::transform {

// From one moment to another. Empty: from the start, up to the end.
struct Span {
  std::string from, to;

  bool is_whole() const { return from.empty() && to.empty(); }
  friend bool operator==(const Span&, const Span&) = default;
};

// "A..B", "A..", "..B". Fails if there is no "..".
Result<Span> parse_span(std::string_view text);
std::string span_text(const Span& span);

// The start and end of the span in this profile. Fails, in one line, if a moment does not exist or
// if the span ends before it begins.
Result<Window> find_window(const profile::Profile& profile, const Span& span);

// A snapshot, and the totals of the profile at that moment.
struct Moment {
  std::string file, name;  // not escaped; name "" = it has none
  std::uint32_t number = 0;
  std::uint64_t time_ns = 0;  // since the start of the profile
  profile::SnapshotReason reason = profile::SnapshotReason::kAsked;
  std::vector<profile::MetricTotal> totals;  // empty: not requested
};

// All snapshots of a profile, the oldest first. With `totals`, sums each metric at each snapshot,
// which takes time proportional to the snapshots' size.
std::vector<Moment> moments(const profile::Profile& profile, bool totals);

// A name by which find_window() finds that moment.
std::string name_of(const Moment& moment);

}  // namespace fbleprof::transform
