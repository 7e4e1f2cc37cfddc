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

// What the ranges cover, in order, as ranges apart from each other.
std::vector<CodeRange> joined(const std::vector<CodeRange>& ranges) {
  std::vector<CodeRange> result;
  for (const CodeRange& range : ranges) {
    if (result.empty() || result.back().module != range.module || result.back().end < range.begin) {
      result.push_back(range);
    } else {
      result.back().end = std::max(result.back().end, range.end);
    }
  }
  return result;
}

bool holds(const std::vector<CodeRange>& apart, const Charge& charge) {
  const auto after = std::partition_point(apart.begin(), apart.end(), [&](const CodeRange& range) {
    return std::tie(range.module, range.begin) <= std::tie(charge.module, charge.address);
  });
  if (after == apart.begin()) return false;
  const CodeRange& range = *std::prev(after);
  return range.module == charge.module && charge.address < range.end;
}

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

Annotator::Annotator(const Costs& costs, const std::vector<Charge>& all,
                     const std::vector<CodeRange>& ranges)
    : costs_(costs), all_(all) {
  const Nodes& nodes = costs.profile().nodes();
  const std::size_t functions = costs.profile().functions().count();
  const std::vector<CodeRange> apart = joined(ranges);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (holds(apart, all[i])) by_place_.push_back(i);
  }
  std::sort(by_place_.begin(), by_place_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(all[a].module, all[a].address, a) < std::tie(all[b].module, all[b].address, b);
  });
  contexts_ = {functions, nodes.count(), [&](std::size_t n) { return nodes.function[n].index(); }};
  samples_below_ = {functions, all.size(), [&](std::size_t i) -> std::size_t {
                      const NodeId parent = nodes.parent[all[i].node];
                      if (all[i].own == 0 || !parent) return functions;
                      return nodes.function[parent.index()].index();
                    }};
}

// In preorder.
std::vector<std::uint32_t> Annotator::charges_in(const CodeRange& range) const {
  const auto first = std::partition_point(by_place_.begin(), by_place_.end(), [&](std::uint32_t i) {
    return std::tie(all_[i].module, all_[i].address) < std::tie(range.module, range.begin);
  });
  const auto last = std::partition_point(first, by_place_.end(), [&](std::uint32_t i) {
    return all_[i].module == range.module && all_[i].address < range.end;
  });
  std::vector<std::uint32_t> found(first, last);
  std::sort(found.begin(), found.end());
  return found;
}

Annotation Annotator::annotate(const CodeRange& range,
                               const std::vector<FunctionId>& functions) const {
  const Profile& profile = costs_.profile();
  const Nodes& nodes = profile.nodes();
  const Functions& all_functions = profile.functions();
  Annotation result;
  for (const std::uint32_t i : charges_in(range)) result.charges.push_back(all_[i]);
  result.instructions = by_address(result.charges);

  // In preorder: the functions' contexts, and the samples below them.
  std::vector<std::uint32_t> contexts, samples;
  for (const FunctionId function : functions) {
    const auto own = contexts_[function.index()], below = samples_below_[function.index()];
    contexts.insert(contexts.end(), own.begin(), own.end());
    samples.insert(samples.end(), below.begin(), below.end());
  }
  std::sort(contexts.begin(), contexts.end());
  std::sort(samples.begin(), samples.end());

  std::uint32_t until = 0, covered_until = 0;
  std::uint64_t of_contexts = 0, covered = 0;
  auto context = contexts.begin();
  const auto pass_contexts = [&](std::uint32_t end) {
    for (; context != contexts.end() && *context < end; ++context) {
      const std::uint32_t n = *context;
      if (all_functions.kind[nodes.function[n].index()] != FunctionKind::kInstruction) {
        result.without_address += costs_.own(NodeId(n));
      }
      if (n < until) continue;
      until = nodes.subtree_end[n];
      result.total += costs_.inclusive()[n];
      of_contexts += costs_.inclusive()[n];
    }
  };
  for (const Charge& charge : result.charges) {
    pass_contexts(charge.node + 1);
    if (charge.node < until && charge.node >= covered_until) {
      covered_until = charge.end;
      covered += charge.total;
    }
    if (charge.own == 0) continue;
    const NodeId parent = nodes.parent[charge.node];
    const bool is_own = parent && std::binary_search(functions.begin(), functions.end(),
                                                     nodes.function[parent.index()]);
    result.in_code += charge.own;
    if (!is_own) result.of_callers += charge.own;
    if (charge.node >= until) result.total += charge.own;
  }
  pass_contexts(static_cast<std::uint32_t>(nodes.count()));
  // Of a maximum, parts may add up to more.
  result.elsewhere = of_contexts - std::min(covered, of_contexts);

  std::map<std::tuple<ModuleId, StringId, std::uint64_t>, Annotation::Outside> outside;
  for (const std::uint32_t i : samples) {
    const Charge& charge = all_[i];
    if (charge.module == range.module && charge.address >= range.begin &&
        charge.address < range.end) {
      continue;
    }
    const FunctionId function = nodes.function[charge.node];
    const StringId name = all_functions.name[function.index()];
    outside
        .try_emplace({charge.module, name, name ? 0 : charge.address},
                     Annotation::Outside{function, 0})
        .first->second.cost += charge.own;
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
