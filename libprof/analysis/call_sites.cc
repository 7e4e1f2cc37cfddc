#include "analysis/call_sites.h"

#include <algorithm>

#include "analysis/by_callee.h"
#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

constexpr std::uint32_t kNoRow = 0xffffffffu;

// Rows of one callee after the other: for each of its callers a chain of rows, a site each.
class Rows {
 public:
  explicit Rows(std::size_t functions) : first_(functions, kNoRow), callee_of_(functions, kNoRow) {}

  std::uint32_t index(FunctionId caller, FunctionId callee, SiteId site, bool is_tail) {
    std::uint32_t& first = first_[caller.index()];
    if (callee_of_[caller.index()] != callee.index()) {
      callee_of_[caller.index()] = callee.index();
      first = kNoRow;
    }
    for (std::uint32_t row = first; row != kNoRow; row = next_[row]) {
      if (rows[row].site == site && rows[row].is_tail == is_tail) return row;
    }
    rows.push_back({caller, callee, site, is_tail});
    next_.push_back(first);
    first = static_cast<std::uint32_t>(rows.size() - 1);
    return first;
  }
  std::vector<CallSiteRow> rows;

 private:
  std::vector<std::uint32_t> first_, callee_of_;  // by caller; the callee that first_ is of
  std::vector<std::uint32_t> next_;               // by row: the next of the same chain
};

}  // namespace

bool has_call_sites(const Profile& profile) {
  const auto keeps_apart = [](const Process& process) {
    return (process.flags & format::kHeaderCallSites) != 0;
  };
  return !profile.processes().empty() &&
         std::all_of(profile.processes().begin(), profile.processes().end(), keeps_apart);
}

std::vector<CallSiteRow> call_site_table(const Profile& profile, const Metric& metric) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t> cost = inclusive(profile, metric);
  const std::vector<std::uint8_t> is_bound = lower_bounds(profile);

  const bool first_only = !has_call_sites(profile);
  const ByCallee by_callee(profile);
  Rows table(by_callee.function_count());
  std::vector<std::uint32_t> until;
  const auto count = [&](CallSiteRow& row, std::uint32_t e) {
    row.calls += edges.calls[e];
    row.by_tail_call |= (edges.flags[e] & format::kEdgeByTailCall) != 0;
    row.is_first_only |= first_only && edges.site[e] && edges.calls[e] > 1;
  };
  for (std::size_t f = 0; f < by_callee.function_count(); ++f) {
    for (const std::uint32_t* at = by_callee.begin(f); at != by_callee.end(f); ++at) {
      const std::uint32_t n = *at, e = by_callee.tree_edge(n);
      if (!nodes.parent[n]) continue;
      const bool is_called = e != ByCallee::kNoEdge;
      const std::uint32_t index =
          table.index(nodes.function[nodes.parent[n].index()], FunctionId(f),
                      is_called ? edges.site[e] : SiteId(), false);
      if (index >= until.size()) until.resize(index + 1);
      CallSiteRow& row = table.rows[index];
      if (is_called) count(row, e);
      // Preorder: inside the subtree of an outer such call its cost is counted.
      if (n < until[index]) continue;
      until[index] = nodes.subtree_end[n];
      row.cost += cost[n];
      row.cost_is_bound |= is_bound[n] != 0;
    }
    for (const std::uint32_t* e = by_callee.edges_begin(f); e != by_callee.edges_end(f); ++e) {
      const std::uint32_t index = table.index(nodes.function[edges.from[*e].index()], FunctionId(f),
                                              edges.site[*e], edges.kind[*e] == EdgeKind::kTail);
      count(table.rows[index], *e);
    }
  }
  return std::move(table.rows);
}

}  // namespace fbleprof::analysis
