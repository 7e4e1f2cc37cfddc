// --hot: the most expensive path: from the root on, each function is the most expensive callee of
// the one before and has at least half of its cost. Also shows the fork at the end of the path.
#include "analysis/hot_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/compact_path.h"
#include "analysis/sampled.h"
#include "report/text/quantity.h"
#include "report/views/path_text.h"
#include "report/views/phrases.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using Kind = Column::Kind;

namespace {

constexpr std::size_t kForkForPeople = 8;
constexpr std::size_t kPathForPeople = 40;  // lines
constexpr std::size_t kAboveForPeople = 3;  // of a longer one, at its beginning
constexpr std::size_t kDeepestIndent = 12;  // levels

// Indented like the tree; beyond the deepest level all lines have the same indent.
std::string branch(std::size_t level, bool is_last) {
  if (level == 0) return {};
  return std::string(3 * (std::min(level, kDeepestIndent) - 1), ' ') + (is_last ? "└─ " : "├─ ");
}

// The children of the end of the path, the most expensive first.
std::vector<std::uint32_t> ways_from(const analysis::Costs& costs, std::uint32_t fork) {
  const Nodes& nodes = costs.profile().nodes();
  std::vector<std::uint32_t> ways;
  if (nodes.count() == 0) return ways;
  for (std::uint32_t c = fork + 1; c < nodes.subtree_end[fork]; c = nodes.subtree_end[c]) {
    ways.push_back(c);
  }
  std::stable_sort(ways.begin(), ways.end(), [&](std::uint32_t a, std::uint32_t b) {
    return costs.inclusive()[a] > costs.inclusive()[b];
  });
  return ways;
}

Result<Document> hot(const Request& request) {
  const analysis::Costs& costs = request.costs;
  const Nodes& nodes = request.profile().nodes();
  const std::vector<NodeId> path = analysis::hot_path(costs);
  const std::vector<std::uint32_t> ways = ways_from(costs, path.empty() ? 0 : path.back().index());

  Document document = request.document("hot");
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"part", "", Kind::kText},
                   {"depth", "", Kind::kNumber},
                   {"name", "name", Kind::kName},
                   {"total", "total", Kind::kCost},
                   {"", "%", Kind::kShare},
                   {"self", "self", Kind::kCost},
                   {"", "%", Kind::kShare},
                   {"calls", "calls", Kind::kCount},
                   {"total_is_bound", "", Kind::kFlag},
                   {"sampled", "", Kind::kFlag}};
  bool any_bound = false;
  const auto sampled = analysis::sampled_contexts(request.profile());
  CallCells calls(request);
  const auto add = [&](const char* part, std::uint32_t n, const std::string& before) {
    const NodeId node(n);
    const bool is_bound = costs.is_bound()[n] != 0;
    Cell self = number_cell(costs.own(node)), share = self;
    if (costs.own(node) == 0) {
      self = hidden(self);
      share = hidden(share);
    }
    const FunctionId function = nodes.function[n];
    table.add({text_cell(part), number_cell(nodes.depth[n]),
               name_cell({{before, {}}, {{}, function}}, document.names.whole(function)),
               number_cell(costs.inclusive()[n], is_bound),
               number_cell(costs.inclusive()[n], is_bound), self, share,
               calls(costs.calls(node), sampled[n] != 0, function), flag_cell(is_bound),
               flag_cell(sampled[n] != 0)});
  };
  const bool for_people = request.look.format == Format::kText && !request.look.all;
  for (std::size_t i = 0; i < path.size(); ++i) {
    any_bound |= costs.is_bound()[path[i].index()] != 0;
    if (for_people && path.size() > kPathForPeople && i >= kAboveForPeople &&
        i + kPathForPeople - kAboveForPeople < path.size()) {
      continue;
    }
    add("path", path[i].index(), branch(i, true));
  }
  std::size_t shown = ways.size();
  if (request.look.top != 0) {
    shown = std::min(shown, request.look.top);
  } else if (for_people) {
    shown = std::min(shown, kForkForPeople);
  }
  for (std::size_t i = 0; i < shown; ++i) {
    add("fork", ways[i], branch(path.size(), i + 1 == ways.size()));
  }
  if (request.look.format != Format::kText) return document;
  if (shown < ways.size()) {
    std::uint64_t rest = 0;
    for (std::size_t i = shown; i < ways.size(); ++i) costs.add(rest, costs.inclusive()[ways[i]]);
    std::vector<Cell> row(table.columns.size());
    row[2] = text_cell(branch(path.size(), true) + fmt::format("… {} more", ways.size() - shown));
    row[3] = row[4] = number_cell(rest);
    table.add(std::move(row));
  }
  if (path.empty()) {
    table.notes.push_back("no function has half of the cost: the path forks at the root");
  } else {
    document.notes.push_back(path_text(
        document.names, analysis::path_to(request.profile(), path.back()), request.look.width));
    if (ways.empty()) document.notes.push_back("the path ends there: the cost is its own");
  }
  if (any_bound) document.notes.push_back(kBoundNote);
  calls.add_notes(document.notes);
  document.notes.push_back(kept_line(request));
  return document;
}

const Register kHot({
    .name = "hot",
    .help = "the most expensive path, down to its first fork",
    .manual =
        "The most expensive path from the root, as long as one callee has at least half of its\n"
        "caller's cost; then the callees at the fork.",
    .topic = View::Topic::kOverview,
    .limits = "top",
    .show = hot,
});

}  // namespace
}  // namespace fbleprof::report
