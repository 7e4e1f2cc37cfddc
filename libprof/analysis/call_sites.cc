#include "analysis/call_sites.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

class Rows {
 public:
  std::size_t index(FunctionId caller, FunctionId callee, SiteId site, bool is_tail) {
    const auto [at, added] = map_.try_emplace({caller, callee, site, is_tail}, rows.size());
    if (added) rows.push_back({caller, callee, site, is_tail});
    return at->second;
  }
  std::vector<CallSiteRow> rows;

 private:
  std::map<std::tuple<FunctionId, FunctionId, SiteId, bool>, std::size_t> map_;
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

  std::vector<SiteId> entered_at(nodes.count());
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] == EdgeKind::kTree) entered_at[edges.to[e].index()] = edges.site[e];
  }
  Rows table;
  std::vector<std::uint32_t> until;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (!nodes.parent[n]) continue;
    const std::size_t row = table.index(nodes.function[nodes.parent[n].index()], nodes.function[n],
                                        entered_at[n], false);
    if (row == until.size()) until.push_back(0);
    if (n < until[row]) continue;
    until[row] = nodes.subtree_end[n];
    table.rows[row].cost += cost[n];
    table.rows[row].cost_is_bound |= is_bound[n] != 0;
  }
  const bool first_only = !has_call_sites(profile);
  for (std::size_t e = 0; e < edges.count(); ++e) {
    CallSiteRow& row = table.rows[table.index(nodes.function[edges.from[e].index()],
                                              nodes.function[edges.to[e].index()], edges.site[e],
                                              edges.kind[e] == EdgeKind::kTail)];
    row.calls += edges.calls[e];
    row.by_tail_call |= (edges.flags[e] & format::kEdgeByTailCall) != 0;
    row.is_first_only |= first_only && edges.site[e] && edges.calls[e] > 1;
  }
  return std::move(table.rows);
}

}  // namespace fbleprof::analysis
