#include "analysis/pairs.h"

#include "analysis/by_callee.h"
#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

constexpr std::uint32_t kNoRow = 0xffffffffu;

// The rows of one callee, found by caller in an array that is never cleared: a stamp tells whether
// what stands there is of this callee.
class Rows {
 public:
  explicit Rows(std::size_t functions) : slot_(functions), stamp_(functions, kNoRow) {}

  PairRow& row(FunctionId caller, FunctionId callee) {
    const std::uint32_t c = caller.index();
    if (stamp_[c] != callee.index()) {
      stamp_[c] = callee.index();
      slot_[c] = static_cast<std::uint32_t>(rows.size());
      rows.push_back({caller, callee});
      until.push_back(0);
    }
    last_ = slot_[c];
    return rows[last_];
  }
  // Of the row asked for last: where the subtree of its latest outermost node ends.
  std::uint32_t& end_of_last() { return until[last_]; }

  std::vector<PairRow> rows;

 private:
  std::vector<std::uint32_t> until;
  std::vector<std::uint32_t> slot_, stamp_;
  std::uint32_t last_ = 0;
};

void count(const Edges& edges, std::uint32_t e, PairRow& row) {
  row.calls += edges.calls[e];
  row.by_tail_call |= (edges.flags[e] & format::kEdgeByTailCall) != 0;
}

}  // namespace

std::vector<PairRow> pair_table(const Profile& profile, const Metric& metric,
                                const std::vector<std::uint8_t>& wanted) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t> cost = inclusive(profile, metric);
  const std::vector<std::uint8_t> is_bound = lower_bounds(profile);
  const ByCallee by_callee(profile);
  const auto is_wanted = [&](FunctionId caller, std::size_t callee) {
    return wanted.empty() || wanted[caller.index()] != 0 || wanted[callee] != 0;
  };

  Rows calls(profile.functions().count()), tails(profile.functions().count());
  for (std::size_t f = 0; f < by_callee.function_count(); ++f) {
    const FunctionId callee(f);
    for (const std::uint32_t* n = by_callee.begin(f); n != by_callee.end(f); ++n) {
      if (!nodes.parent[*n]) continue;
      const FunctionId caller = nodes.function[nodes.parent[*n].index()];
      if (!is_wanted(caller, f)) continue;
      PairRow& row = calls.row(caller, callee);
      if (const std::uint32_t e = by_callee.tree_edge(*n); e != ByCallee::kNoEdge) {
        count(edges, e, row);
      }
      if (*n < calls.end_of_last()) continue;
      calls.end_of_last() = nodes.subtree_end[*n];
      row.cost += cost[*n];
      row.cost_is_bound |= is_bound[*n] != 0;
    }
    for (const std::uint32_t* e = by_callee.edges_begin(f); e != by_callee.edges_end(f); ++e) {
      const FunctionId caller = nodes.function[edges.from[*e].index()];
      if (!is_wanted(caller, f)) continue;
      const bool is_tail = edges.kind[*e] == EdgeKind::kTail;
      PairRow& row = (is_tail ? tails : calls).row(caller, callee);
      row.is_tail = is_tail;
      count(edges, *e, row);
    }
  }
  calls.rows.insert(calls.rows.end(), tails.rows.begin(), tails.rows.end());
  return std::move(calls.rows);
}

}  // namespace fbleprof::analysis
