#include "report/views/hot_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/compact_path.h"
#include "analysis/costs.h"
#include "analysis/hot_path.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/path_text.h"
#include "report/views/tables.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr std::size_t kForkForPeople = 8;
constexpr std::size_t kPathForPeople = 40;  // lines
constexpr std::size_t kAboveForPeople = 3;  // of a longer one, at its beginning
constexpr std::size_t kWidestIndent = 24;
constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;

}  // namespace

std::string hot_view(const Input& input) {
  const Profile& profile = input.profile;
  const Nodes& nodes = profile.nodes();
  const auto cost = analysis::inclusive(profile, input.metric);
  const auto is_bound = analysis::lower_bounds(profile);
  const Metric* calls = profile.find_metric("calls");
  const std::vector<NodeId> path = analysis::hot_path(profile, input.metric);
  const std::uint32_t fork = path.empty() ? 0 : path.back().index();
  std::vector<std::uint32_t> ways;
  if (nodes.count() != 0) {
    for (std::uint32_t c = fork + 1; c < nodes.subtree_end[fork]; c = nodes.subtree_end[c]) {
      ways.push_back(c);
    }
  }
  std::stable_sort(ways.begin(), ways.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return cost[a] > cost[b]; });

  Table table;
  table.columns = {{"part", "", kLeft},
                   {"depth", "", kRight},
                   {"name", "", kLeft},
                   {"total", "", kRight},
                   {"self", "", kRight},
                   {"calls", "", kRight},
                   {"total_is_bound", "", kRight},
                   {"", "total", kRight},
                   {"", "%", kRight},
                   {"", "self", kRight},
                   {"", "%", kRight},
                   {"", "calls", kRight},
                   {"", "name", kLeft}};
  const auto add = [&](const char* part, std::uint32_t n, const std::string& before) {
    const std::uint64_t own = input.metric.value(NodeId(n));
    const std::uint64_t count = calls != nullptr ? calls->value(NodeId(n)) : 0;
    const Cell name = name_cell(input, nodes.function[n]);
    Cell shown = name, self = cost_cell(input, own), share = percent_cell(own, input.kept);
    if (own == 0) self.text = share.text = "";
    shown.text = before + name.text;
    table.add({text_cell(part), count_cell(nodes.depth[n]), name, count_cell(cost[n]),
               count_cell(own), count_cell(count), flag_cell(is_bound[n] != 0),
               cost_cell(input, cost[n], is_bound[n] != 0),
               percent_cell(cost[n], input.kept, is_bound[n] != 0), self, share, count_cell(count),
               shown});
  };
  const bool for_people = input.look.format == Format::kText && !input.look.all;
  bool any_bound = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    any_bound |= is_bound[path[i].index()] != 0;
    if (for_people && path.size() > kPathForPeople && i >= kAboveForPeople &&
        i + kPathForPeople - kAboveForPeople < path.size()) {
      continue;
    }
    add("path", path[i].index(), std::string(std::min(i, kWidestIndent), ' '));
  }
  std::size_t shown = ways.size();
  if (input.look.top != 0) {
    shown = std::min(shown, input.look.top);
  } else if (for_people) {
    shown = std::min(shown, kForkForPeople);
  }
  const std::string indent(std::min(path.size(), kWidestIndent), ' ');
  for (std::size_t i = 0; i < shown; ++i) {
    add("fork", ways[i], indent + (i + 1 == ways.size() ? "└─ " : "├─ "));
  }
  if (input.look.format == Format::kText && shown < ways.size()) {
    std::uint64_t rest = 0;
    for (std::size_t i = shown; i < ways.size(); ++i) rest += cost[ways[i]];
    Cell more = text_cell(indent + fmt::format("└─ … {} more", ways.size() - shown));
    std::vector<Cell> row(table.columns.size());
    row[7] = cost_cell(input, rest);
    row[8] = percent_cell(rest, input.kept);
    row[12] = more;
    table.add(std::move(row));
  }
  if (input.look.format != Format::kText) return render_table(input, table, "hot");

  std::string out = text_of(table, input.look);
  const auto note = [&](const std::string& line) {
    out += paint(input.look, Ink::kDim, line) + "\n";
  };
  if (path.empty()) {
    note("nothing holds half of the cost: it forks at the root");
  } else {
    out += path_text(input, analysis::path_to(profile, path.back()), input.look.width) + "\n";
    if (ways.empty()) note("the path ends there: the cost is its own");
  }
  if (any_bound) note(bound_note());
  note(kept_line(input));
  return out;
}

}  // namespace fbleprof::report
