#include "analysis/rollup.h"

#include <algorithm>

#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<RollupRow> rollup(const Profile& profile, const Metric& metric,
                              const std::vector<std::uint32_t>& group_of) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t> cost = inclusive(profile, metric);
  const std::vector<std::uint8_t> is_bound = lower_bounds(profile);
  const auto group_at = [&](NodeId node) { return group_of[nodes.function[node.index()].index()]; };

  std::uint32_t groups = 0;
  for (const std::uint32_t group : group_of) {
    if (group != kNoGroup) groups = std::max(groups, group + 1);
  }
  std::vector<RollupRow> rows(groups);
  std::vector<std::uint32_t> until(groups, 0);
  std::vector<std::uint8_t> counted(profile.functions().count(), 0);
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const std::uint32_t group = group_at(NodeId(n));
    if (!nodes.parent[n] || group == kNoGroup) continue;
    RollupRow& row = rows[group];
    row.group = group;
    row.self += metric.value(NodeId(n));
    std::uint8_t& is_counted = counted[nodes.function[n].index()];
    if (is_counted == 0) ++row.functions;
    is_counted = 1;
    // Preorder: inside the subtree of an outer node of this group, its cost is counted.
    if (n < until[group]) continue;
    until[group] = nodes.subtree_end[n];
    row.dominated += cost[n];
    row.dominated_is_bound |= is_bound[n] != 0;
  }
  for (std::size_t e = 0; e < edges.count(); ++e) {
    const std::uint32_t to = group_at(edges.to[e]);
    if (to == kNoGroup) continue;
    rows[to].calls += edges.calls[e];
    if (group_at(edges.from[e]) != to) rows[to].entries += edges.calls[e];
  }
  std::erase_if(rows, [](const RollupRow& row) { return row.functions == 0; });
  return rows;
}

namespace {

// `name` up to its parameter list, without template arguments and what stands before the name (a
// return type). Brackets of operators are no lists.
std::string plain(std::string_view name) {
  std::string out;
  int angle = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    constexpr std::string_view kOperator = "operator";
    if (angle == 0 && name.substr(i).starts_with(kOperator) &&
        (i == 0 || name[i - 1] == ':' || name[i - 1] == ' ')) {
      out += kOperator;  // what follows names no scope
      break;
    }
    if (c == '<') {
      ++angle;
      continue;
    }
    if (c == '>') {
      if (angle > 0) --angle;
      continue;
    }
    if (angle > 0) continue;
    if (c == '(') {
      constexpr std::string_view kAnonymous = "(anonymous namespace)";
      if (!name.substr(i).starts_with(kAnonymous)) break;
      out += "(anonymous)";
      i += kAnonymous.size() - 1;
      continue;
    }
    if (c == ' ') {
      out.clear();  // a return type, or "virtual thunk to"
      continue;
    }
    out += c;
  }
  return out;
}

}  // namespace

std::string scope_of(std::string_view name) {
  // Rust: "<alloc::vec::Vec<T> as core::ops::Drop>::drop" is of the type in front.
  if (name.starts_with('<')) {
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '<') ++depth;
      if (name[i] == '>') --depth;
      const bool at_end = depth == 0 || (depth == 1 && name.substr(i).starts_with(" as "));
      if (!at_end) continue;
      const std::string type = plain(name.substr(1, i - 1));
      if (!type.empty()) return type;
      break;
    }
  }
  const std::string whole = plain(name);
  const std::size_t end = whole.rfind("::");
  return end == std::string::npos ? std::string() : whole.substr(0, end);
}

std::string outermost_scope_of(std::string_view name) {
  const std::string scope = scope_of(name);
  return scope.substr(0, scope.find("::"));
}

}  // namespace fbleprof::analysis
