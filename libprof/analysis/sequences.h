// A sequence of functions a -> b -> c, each called by the one before: its callers and its callees.
//
// Does for a sequence what in_and_out.h does for one function. The sequence occurs wherever its
// functions are adjacent on a path; its cost is that of all paths that hold it, each counted once.
//
// Limits: a back edge that leads from inside the sequence to a context that looks different hides
// the rest of the sequence (costs are then lower bounds). A context in the middle of a sequence
// that back edges enter mixes calls of different origin, so calls of sequences of four and more are
// approximate. Calls of two and three functions are exact, thanks to the pair rule. So are those by
// their callers, unless a back edge enters the sequence before its last function. Tail calls have
// no cost of their own and end a sequence: they are counted apart.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/costs.h"
#include "analysis/pair_table.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

// The sequence's first functions, up to and including one of them.
struct SequenceStep {
  std::uint64_t calls = 0;  // of the last of them, by the one before
  bool calls_are_about = false;
  bool is_sampled = false;       // only samples saw it: the number is unknown
  std::uint64_t tail_calls = 0;  // `calls` made by a jump
  std::uint64_t cost = 0;        // of all paths that hold them
  bool cost_is_bound = false;    // at least
};

struct Sequence {
  std::vector<SequenceStep> steps;
  std::uint64_t self = 0;  // of the last function, in the sequence
  // in: PairRow::caller calls the first function, PairRow::callee is none, calls are those of the
  // last function; out: the last function calls PairRow::callee. Most expensive first, tail calls
  // last.
  std::vector<PairRow> in, out;
  std::vector<profile::NodeId>
      contexts;  // of the last function, outermost ones, most expensive first
};

// `matches[i]`, by function: 1 = it can be the i-th of the sequence. At most 64 steps.
Sequence sequence(const Costs& costs, const std::vector<std::vector<std::uint8_t>>& matches);

}  // namespace fbleprof::analysis
