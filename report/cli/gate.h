// Limits for changes from a baseline: the argument of --fail-if.
//
//     [+|-]NUMBER[%|UNIT] METRIC [self|dominated] [in PATTERN]
//
//     +5% ticks in parse*       ticks of all paths that hold a function parse*, at most 5% up
//     +0 calls self in sort     not a single call of sort more
//     -20% cpu                  the whole profile, at most 20% down
//     10ms wall in re:^io::     at most 10 ms in either direction
//
// UNIT is ns, us, ms, s for times; B, KiB, MiB, GiB for sizes; counts have none. The functions that
// the pattern names count together: `self`, or `dominated` (every path that holds one of them,
// once). Without either word it is dominated; for calls it is self, the calls of these functions
// and not of their callees. Figures are whole numbers and are compared exactly; but a change of a
// sampled metric that chance alone can cause (analysis/diff.h) breaks no rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/diff.h"
#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::report {

struct Limit {
  enum class Direction { kUp, kDown, kBoth } direction = Direction::kBoth;
  // The number, without rounding: digits / 10^decimals, times `factor` of the unit.
  std::uint64_t digits = 0, power_of_ten = 1;
  std::uint64_t factor = 1;
  bool is_percent = false;
  std::string unit;  // "", or what the metric must be of: ns, bytes
  std::string metric;
  std::optional<analysis::Extent> extent;
  std::string pattern;  // "" = all
  std::string text;     // as the user wrote it
};

// Fails, with one line, if the text is not a limit.
Result<Limit> parse_limit(const std::string& text);

// One line that says how the limit is broken; "" if it holds. `profile` is one tree that holds the
// metric and its baseline. With `normalize` the baseline is scaled to the total of the new profile,
// except for calls.
Result<std::string> check_limit(const profile::Profile& profile, const Limit& limit,
                                bool normalize);

}  // namespace fbleprof::report
