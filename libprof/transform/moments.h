// The moments of a run as people name them: what --window takes.
//
//     loaded        the newest snapshot of that name
//     #3            the third snapshot
//     peak          the newest one that was taken because a level was higher than ever before
//     10s, -500ms   the newest one that was there 10 s after the start, 500 ms before the end
//     start, end    where the profile begins and ends; so does an empty one
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

// "A..B", "A..", "..B". Fails on what has no "..".
Result<Span> parse_span(std::string_view text);
std::string span_text(const Span& span);

// Where the span begins and ends in this profile. Fails, in one line, if there is no such moment or
// if it ends before it begins.
Result<Window> find_window(const profile::Profile& profile, const Span& span);

// A snapshot, and what the profile held then.
struct Moment {
  std::string file, name;  // not escaped; name "" = it has none
  std::uint32_t number = 0;
  std::uint64_t time_ns = 0;  // since the start of the profile
  profile::SnapshotReason reason = profile::SnapshotReason::kAsked;
  std::vector<profile::MetricTotal> totals;  // empty: they were not asked for
};

// All snapshots of a profile, the oldest first. With `totals` each metric is summed at each of
// them, which takes as long as the snapshots are large.
std::vector<Moment> moments(const profile::Profile& profile, bool totals);

// A name that find_window() finds that moment by.
std::string name_of(const Moment& moment);

}  // namespace fbleprof::transform
