// The query language of --keep: an expression that says which contexts are kept.
//
// An expression denotes a set of contexts (nodes of the tree). What was charged to a context of the
// set is kept, everything else is dropped. See docs/QUERY.md for the language as users have it.
//
//     NAME                    contexts whose path holds a match (matcher.h)
//     at(X)                   contexts of X itself; inside, NAME means the function, not its path
//     from(X)                 contexts that calls from X reach: below X, and behind back edges
//     to(X)                   contexts from which calls reach X
//     pred(X), succ(X)        direct callers of X, direct callees of X
//     path(a, b, c)           contexts whose path holds a -> b -> c; `a .. b` allows gaps
//     self > 1%, dominated >= 10ms, calls > 1000, total > 1%, depth < 4
//     and, or, not, (...)
//
// Parsing and evaluating are pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::transform {

// A parsed query, as a tree.
struct Query {
  enum class Kind {
    kMatch,  // pattern
    kNot,    // below[0]
    kAnd,    // all of below
    kOr,     // any of below
    kAt,     // of below[0], as the others to kSucc
    kFrom,
    kTo,
    kPred,
    kSucc,
    kPath,     // patterns; gap_before[i]: anything may stand before patterns[i]
    kCompare,  // figure, sign, value, unit
  };
  enum class Figure { kSelf, kDominated, kCalls, kTotal, kDepth };
  enum class Sign { kLess, kAtMost, kMore, kAtLeast, kEqual, kNotEqual };

  Kind kind = Kind::kMatch;
  std::size_t position = 0;  // of its first character, from 0
  std::vector<Query> below;
  std::vector<std::string> patterns;
  std::vector<bool> gap_before;
  Figure figure = Figure::kSelf;
  Sign sign = Sign::kMore;
  double value = 0;
  std::string unit;  // "", "%", ns us ms s min, B KiB MiB GiB KB MB GB, k M G
};

// Fails with one line that says where, what, and how to correct it.
Result<Query> parse_query(std::string_view text);

// By node of `profile` (a merged one): 1 = the query denotes it. Cost thresholds refer to `metric`,
// which may be null if the query has none. Fails on a pattern that names no function here, except
// under `not`.
Result<std::vector<std::uint8_t>> evaluate(const profile::Profile& profile, const Query& query,
                                           const profile::Metric* metric);

}  // namespace fbleprof::transform
