#include "analysis/annotate.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "analysis/pair_index.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

// What one place costs: a path counts once for its total.
struct Sum {
  std::uint64_t own = 0, total = 0;

  void add(const Charge& charge) {
    own += charge.own;
    if (charge.node < until_) return;
    until_ = charge.end;
    total += charge.total;
  }

 private:
  std::uint32_t until_ = 0;
};

}  // namespace

std::vector<Charge> charges(const Costs& costs) {
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const Functions& functions = profile.functions();
  const Sites& sites = profile.sites();
  const WaysIn ways = ways_in(profile);
  std::vector<Charge> result;
  for (std::uint32_t n = 0; n < nodes.count(); ++n) {
    const std::size_t f = nodes.function[n].index();
    if (functions.kind[f] == FunctionKind::kInstruction) {
      const std::uint64_t own = costs.own(NodeId(n));
      if (own != 0)
        result.push_back({functions.module[f], functions.address[f], own, own, n, n + 1});
      continue;
    }
    const std::uint64_t total = costs.inclusive()[n];
    const EdgeId edge = ways.of_node[n];
    if (total == 0 || !edge || !profile.edges().site[edge.index()]) continue;
    const std::size_t site = profile.edges().site[edge.index()].index();
    result.push_back(
        {sites.module[site], sites.address[site] - 1, 0, total, n, nodes.subtree_end[n]});
  }
  return result;
}

std::vector<InstructionCost> by_address(const std::vector<Charge>& charges) {
  std::map<std::uint64_t, Sum> sums;
  for (const Charge& charge : charges) sums[charge.address].add(charge);
  std::vector<InstructionCost> result;
  for (const auto& [address, sum] : sums) result.push_back({address, sum.own, sum.total});
  return result;
}

Annotation annotate(const Costs& costs, const std::vector<Charge>& all, const CodeRange& range,
                    const std::vector<std::uint8_t>& is_function) {
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const Functions& functions = profile.functions();
  Annotation result;
  const auto is_in_range = [&](ModuleId module, std::uint64_t address) {
    return module == range.module && address >= range.begin && address < range.end;
  };
  for (const Charge& charge : all) {
    if (is_in_range(charge.module, charge.address)) result.charges.push_back(charge);
  }
  result.instructions = by_address(result.charges);

  std::map<std::tuple<ModuleId, StringId, std::uint64_t>, Annotation::Outside> outside;
  std::uint32_t until = 0;
  for (std::uint32_t n = 0; n < nodes.count(); ++n) {
    const FunctionId function = nodes.function[n];
    const std::size_t f = function.index();
    const std::uint64_t cost = costs.own(NodeId(n));
    if (is_function[f] != 0 && n >= until) {
      until = nodes.subtree_end[n];
      result.total += costs.inclusive()[n];
    }
    if (cost == 0) continue;
    if (functions.kind[f] != FunctionKind::kInstruction) {
      if (is_function[f] != 0) result.without_address += cost;
      continue;
    }
    const NodeId parent = nodes.parent[n];
    const bool is_own = parent && is_function[nodes.function[parent.index()].index()] != 0;
    if (is_in_range(functions.module[f], functions.address[f])) {
      result.in_code += cost;
      if (!is_own) result.of_callers += cost;
      if (n >= until) result.total += cost;
    } else if (is_own) {
      const StringId name = functions.name[f];
      outside
          .try_emplace({functions.module[f], name, name ? 0 : functions.address[f]},
                       Annotation::Outside{function, 0})
          .first->second.cost += cost;
    }
  }
  for (const auto& [key, other] : outside) result.outside.push_back(other);
  std::stable_sort(result.outside.begin(), result.outside.end(),
                   [](const auto& a, const auto& b) { return a.cost > b.cost; });
  return result;
}

namespace {

// A line and the functions inlined there.
struct Line {
  Sum sum;
  std::uint64_t own = 0;
  std::map<Place, std::unique_ptr<Line>> below;
};

void put(const Line& line, std::uint32_t depth, std::vector<LineRow>& rows) {
  std::vector<std::pair<const Place*, const Line*>> order;
  for (const auto& [place, below] : line.below) order.emplace_back(&place, below.get());
  if (depth != 0) {
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second->sum.total > b.second->sum.total;
    });
  }
  // Inlined calls nest as deep as the compiler inlined: tens, not thousands.
  for (const auto& [place, below] : order) {
    rows.push_back({*place, depth, below->sum.own, below->own, below->sum.total});
    put(*below, depth + 1, rows);
  }
}

}  // namespace

std::vector<LineRow> line_rows(const std::vector<Charge>& charges,
                               const std::vector<PlaceChain>& chains) {
  Line all;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    Line* at = &all;
    for (Place place : chains[i]) {
      std::unique_ptr<Line>& below = at->below[std::move(place)];
      if (!below) below = std::make_unique<Line>();
      at = below.get();
      at->sum.add(charges[i]);
    }
    if (at != &all) at->own += charges[i].own;
  }
  std::vector<LineRow> rows;
  put(all, 0, rows);
  return rows;
}

}  // namespace fbleprof::analysis
