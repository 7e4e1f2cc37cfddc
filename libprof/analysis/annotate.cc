#include "analysis/annotate.h"

#include <algorithm>
#include <map>
#include <memory>

namespace fbleprof::analysis {

using namespace profile;

Annotation annotate(const Profile& profile, const Metric& metric, const CodeRange& range,
                    const std::vector<std::uint8_t>& is_function) {
  const Nodes& nodes = profile.nodes();
  const Functions& functions = profile.functions();
  Annotation result;
  std::map<std::uint64_t, std::uint64_t> by_address;
  std::map<std::pair<ModuleId, StringId>, Annotation::Outside> outside;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const std::uint64_t cost = metric.value(NodeId(n));
    if (cost == 0) continue;
    const FunctionId function = nodes.function[n];
    const std::size_t f = function.index();
    if (functions.kind[f] != FunctionKind::kInstruction) {
      if (is_function[f] != 0) result.without_address += cost;
      continue;
    }
    const NodeId parent = nodes.parent[n];
    const bool is_own = parent && is_function[nodes.function[parent.index()].index()] != 0;
    const bool is_inside = functions.module[f] == range.module &&
                           functions.address[f] >= range.begin && functions.address[f] < range.end;
    if (is_inside) {
      by_address[functions.address[f]] += cost;
      result.in_code += cost;
      if (!is_own) result.of_callers += cost;
    } else if (is_own) {
      outside
          .try_emplace({functions.module[f], functions.name[f]}, Annotation::Outside{function, 0})
          .first->second.cost += cost;
    }
  }
  for (const auto& [address, cost] : by_address) result.instructions.push_back({address, cost});
  for (const auto& [key, other] : outside) result.outside.push_back(other);
  std::stable_sort(result.outside.begin(), result.outside.end(),
                   [](const auto& a, const auto& b) { return a.cost > b.cost; });
  return result;
}

namespace {

// A line and what was inlined there.
struct Line {
  std::uint64_t cost = 0, own = 0;
  std::map<Place, std::unique_ptr<Line>> below;
};

void put(const Line& line, std::uint32_t depth, std::vector<LineRow>& rows) {
  std::vector<std::pair<const Place*, const Line*>> order;
  for (const auto& [place, below] : line.below) order.emplace_back(&place, below.get());
  if (depth != 0) {
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->cost > b.second->cost; });
  }
  // Inlined calls nest as deep as the compiler went: tens, not thousands.
  for (const auto& [place, below] : order) {
    rows.push_back({*place, depth, below->cost, below->own});
    put(*below, depth + 1, rows);
  }
}

}  // namespace

std::vector<LineRow> line_rows(const std::vector<InstructionCost>& instructions,
                               const std::vector<PlaceChain>& chains) {
  Line all;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    Line* at = &all;
    for (Place place : chains[i]) {
      std::unique_ptr<Line>& below = at->below[std::move(place)];
      if (!below) below = std::make_unique<Line>();
      at = below.get();
      at->cost += instructions[i].cost;
    }
    if (at != &all) at->own += instructions[i].cost;
  }
  std::vector<LineRow> rows;
  put(all, 0, rows);
  return rows;
}

}  // namespace fbleprof::analysis
