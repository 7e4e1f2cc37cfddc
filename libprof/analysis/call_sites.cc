#include "analysis/call_sites.h"

#include <algorithm>

#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "analysis/sampled.h"
#include "analysis/tables.h"
#include "base/at_once.h"
#include "base/flat_map.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

constexpr std::uint32_t kNoRow = 0xffffffffu;

// For each pair of caller and callee a chain of rows, one per site.
class Rows {
 public:
  explicit Rows(const PairIndex& pairs) : pairs_(pairs), first_(pairs.count(), kNoRow) {}

  // Most pairs have one or two sites. Generated code calls one function from thousands.
  std::uint32_t index(std::uint32_t pair, SiteId site, bool is_tail) {
    std::uint32_t& first = first_[pair];
    int steps = 0;
    for (std::uint32_t row = first; row != kNoRow && steps < kLongestChain; row = next_[row]) {
      if (rows[row].site == site && rows[row].is_tail == is_tail) return row;
      ++steps;
    }
    if (steps == kLongestChain) {
      FlatMap& others = is_tail ? tails_ : calls_;
      const std::uint64_t key = std::uint64_t{pair} << 32 | site.index();
      const auto [row, added] = others.insert(key, static_cast<std::uint32_t>(rows.size()));
      if (added) add(pair, site, is_tail, kNoRow);
      return row;
    }
    add(pair, site, is_tail, first);
    first = static_cast<std::uint32_t>(rows.size() - 1);
    return first;
  }
  // Prefetches a pair's chain or, if it is loaded already, its first row.
  void prefetch(std::uint32_t pair) const { __builtin_prefetch(&first_[pair]); }
  void prefetch_row(std::uint32_t pair) const {
    if (first_[pair] != kNoRow) __builtin_prefetch(&rows[first_[pair]], 1);
  }
  std::vector<CallSiteRow> rows;

 private:
  static constexpr int kLongestChain = 16;

  void add(std::uint32_t pair, SiteId site, bool is_tail, std::uint32_t next) {
    rows.push_back({pairs_.caller(pair), pairs_.callee(pair), site, is_tail});
    next_.push_back(next);
  }

  const PairIndex& pairs_;
  FlatMap calls_, tails_;             // by pair and site: rows beyond the longest chain
  std::vector<std::uint32_t> first_;  // by pair
  std::vector<std::uint32_t> next_;   // by row: the next of the same chain
};

// The nodes with the pairs [begin, end). Without a branch: half of a million would be predicted
// wrongly.
std::vector<std::uint32_t> nodes_of(const PairIndex& pairs, std::size_t nodes, std::uint32_t begin,
                                    std::uint32_t end) {
  std::vector<std::uint32_t> found(nodes + 1);
  std::size_t count = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const std::uint32_t pair = pairs.of_node(n);
    found[count] = n;
    count += begin <= pair && pair < end ? 1 : 0;
  }
  found.resize(count);
  return found;
}

}  // namespace

bool has_call_sites(const Profile& profile) {
  const auto keeps_apart = [](const Process& process) {
    return (process.flags & format::kHeaderCallSites) != 0;
  };
  return !profile.processes().empty() &&
         std::all_of(profile.processes().begin(), profile.processes().end(), keeps_apart);
}

std::vector<CallSiteRow> call_site_table(const Costs& costs) {
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  WaysIn ways;
  at_once(nodes.count(), {[&] { costs.tables().pair_index(); }, [&] { ways = ways_in(profile); },
                          [&] { costs.is_bound(); }});
  const std::vector<std::uint8_t>& is_bound = costs.is_bound();

  const bool first_only = !has_call_sites(profile);
  const PairIndex& pairs = costs.tables().pair_index();
  const auto count = [&](CallSiteRow& row, std::size_t e) {
    row.calls += edges.calls[e];
    row.by_tail_call |= (edges.flags[e] & format::kEdgeByTailCall) != 0;
    row.is_sampled |= is_sampled(profile, EdgeId(static_cast<std::uint32_t>(e)));
    row.is_first_only |= first_only && edges.site[e] && edges.calls[e] > 1;
  };

  // The rows of the pairs [begin, end).
  const auto rows_of = [&](std::uint32_t begin, std::uint32_t end) {
    Rows table(pairs);
    const auto is_ours = [&](std::uint32_t pair) { return begin <= pair && pair < end; };
    std::vector<std::uint32_t> until;
    const std::vector<std::uint32_t> ours = nodes_of(pairs, nodes.count(), begin, end);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (i + 2 * kFetchAhead < ours.size()) {
        table.prefetch(pairs.of_node(ours[i + 2 * kFetchAhead]));
        table.prefetch_row(pairs.of_node(ours[i + kFetchAhead]));
      }
      const std::uint32_t n = ours[i], pair = pairs.of_node(n);
      const EdgeId edge = ways.of_node[n];
      const std::uint32_t index =
          table.index(pair, edge ? edges.site[edge.index()] : SiteId(), false);
      if (edge) count(table.rows[index], edge.index());
      if (index >= until.size()) until.resize(index + 1);
      // Preorder: the cost inside the subtree of such an outer call is already counted.
      if (n < until[index]) continue;
      until[index] = nodes.subtree_end[n];
      CallSiteRow& row = table.rows[index];
      costs.add(row.cost, cost[n]);
      row.cost_is_bound |= is_bound[n] != 0;
    }
    for (const std::uint32_t e : ways.others) {
      const std::uint32_t pair = pairs.of_edges()[e];
      if (!is_ours(pair)) continue;
      const bool is_tail = edges.kind[e] == EdgeKind::kTail;
      count(table.rows[table.index(pair, edges.site[e], is_tail)], e);
    }
    for (CallSiteRow& row : table.rows) row.is_sampled &= row.calls == 0;
    return std::move(table.rows);
  };
  // Finding a row misses the cache, so two threads with half of the pairs each take half the time.
  const auto all = static_cast<std::uint32_t>(pairs.count());
  std::vector<CallSiteRow> rows, others;
  at_once(nodes.count(),
          {[&] { others = rows_of(all / 2, all); }, [&] { rows = rows_of(0, all / 2); }});
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

}  // namespace fbleprof::analysis
