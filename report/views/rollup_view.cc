#include "report/views/rollup_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/costs.h"
#include "analysis/rollup.h"
#include "report/text/table.h"
#include "report/views/tables.h"
#include "transform/same_module.h"

namespace fbleprof::report {

using namespace profile;
using analysis::RollupRow;

namespace {

constexpr std::string_view kLabel = "label:";
// The recorder labels the profiles of MPI programs with their rank.
constexpr std::string_view kRankLabel = "mpi_rank";

constexpr auto kLeft = Column::Align::kLeft;

bool is_of_functions(std::string_view what) {
  return what == "module" || what == "file" || what == "namespace" || what == "class";
}

// By module: its path, or the base name that builds of it in several directories share.
std::vector<std::string> module_names(const Profile& profile) {
  const std::vector<std::string> identities = transform::module_identities(profile);
  std::unordered_map<std::string, std::string> names;  // by identity
  for (std::size_t m = 0; m < identities.size(); ++m) {
    const std::string path(profile.text(profile.modules()[m].path));
    const auto [it, added] = names.try_emplace(identities[m], path);
    if (!added && it->second != path) it->second = identities[m];
  }
  std::vector<std::string> of_module;
  for (const std::string& identity : identities) of_module.push_back(names[identity]);
  return of_module;
}

std::string name_of(const Profile& profile, FunctionId function, std::string_view what,
                    const std::vector<std::string>& modules) {
  const Functions& functions = profile.functions();
  const std::size_t f = function.index();
  if (what == "module") {
    const ModuleId module = functions.module[f];
    return module ? modules[module.index()] : "(no module)";
  }
  if (what == "file") {
    const std::string_view file = profile.text(functions.file[f]);
    return file.empty() ? "(unknown)" : std::string(file);
  }
  if (profile.text(functions.name[f]).empty()) return "(no name)";
  const std::string name = display_name(profile, function);
  const std::string scope =
      what == "class" ? analysis::scope_of(name) : analysis::outermost_scope_of(name);
  return scope.empty() ? "(global)" : scope;
}

// Groups by name, and their rows.
struct Groups {
  std::vector<std::string> names;
  std::vector<RollupRow> rows;
};

Groups of_functions(const Input& input, std::string_view what) {
  Groups groups;
  std::unordered_map<std::string, std::uint32_t> index;
  const std::vector<std::string> modules = module_names(input.profile);
  std::vector<std::uint32_t> group_of(input.profile.functions().count(), analysis::kNoGroup);
  for (const FunctionId function : input.profile.nodes().function) {
    std::uint32_t& group = group_of[function.index()];
    const FunctionKind kind = input.profile.functions().kind[function.index()];
    if (group != analysis::kNoGroup || kind == FunctionKind::kRoot) continue;
    std::string name = name_of(input.profile, function, what, modules);
    const auto [at, added] =
        index.try_emplace(name, static_cast<std::uint32_t>(groups.names.size()));
    if (added) groups.names.push_back(std::move(name));
    group = at->second;
  }
  groups.rows = analysis::rollup(input.profile, input.metric, group_of);
  return groups;
}

// Each child of the root is a group, as merging made them.
Groups of_trees(const Input& input) {
  const Nodes& nodes = input.profile.nodes();
  const Metric* calls = input.profile.find_metric("calls");
  const std::vector<std::uint64_t> cost = analysis::inclusive(input.profile, input.metric);
  Groups groups;
  for (std::uint32_t n = 1; n < nodes.count(); n = nodes.subtree_end[n]) {
    RollupRow& row = groups.rows.emplace_back();
    row.group = static_cast<std::uint32_t>(groups.names.size());
    groups.names.push_back(display_name(input.profile, nodes.function[n]));
    row.self = row.dominated = cost[n];
    for (std::uint32_t c = n; calls != nullptr && c < nodes.subtree_end[n]; ++c) {
      row.calls += calls->value(NodeId(c));
    }
  }
  return groups;
}

}  // namespace

bool is_rollup(std::string_view what) {
  if (is_of_functions(what)) return true;
  for (const std::string_view known : {"thread", "process", "host", "rank"}) {
    if (what == known) return true;
  }
  return what.starts_with(kLabel) && what.size() > kLabel.size();
}

std::vector<transform::Split> rollup_splits(std::string_view what) {
  if (is_of_functions(what)) return {};
  std::string split(what);
  if (what == "rank") split = std::string(kLabel) + std::string(kRankLabel);
  auto parsed = transform::parse_split(split);
  return parsed ? std::vector<transform::Split>{*parsed} : std::vector<transform::Split>{};
}

std::string rollup_view(const Input& input, const std::string& what) {
  const bool functions = is_of_functions(what);
  Groups groups = functions ? of_functions(input, what) : of_trees(input);
  const std::string& sort = input.look.sort;
  // What a group costs each time that it is entered.
  const auto entries = [&](const RollupRow& row) { return functions ? row.entries : row.calls; };
  const auto average = [&](const RollupRow& row) {
    return entries(row) == 0 ? 0 : row.dominated / entries(row);
  };
  std::stable_sort(groups.rows.begin(), groups.rows.end(),
                   [&](const RollupRow& a, const RollupRow& b) {
                     if (sort == "name") return groups.names[a.group] < groups.names[b.group];
                     if (sort == "calls" && a.calls != b.calls) return a.calls > b.calls;
                     if (sort == "per-call" && average(a) != average(b)) {
                       return average(a) > average(b);
                     }
                     if (sort == "dominated" && a.dominated != b.dominated) {
                       return a.dominated > b.dominated;
                     }
                     return a.self != b.self ? a.self > b.self : a.dominated > b.dominated;
                   });

  Table table;
  // For people a run has one figure, and of calls into a group those from outside are telling.
  const auto of_groups = [&](const char* title) { return functions ? title : ""; };
  table.columns = {{"name", "", kLeft},
                   {"self", ""},
                   {"dominated", ""},
                   {"calls", ""},
                   {"entries", ""},
                   {"functions", ""},
                   {"dominated_is_bound", ""},
                   {"", functions ? "self" : "cost"},
                   {"", "%"},
                   {"", of_groups("dominated")},
                   {"", of_groups("%")},
                   {"", "calls"},
                   {"", of_groups("from outside")},
                   {"", "per call"},
                   {"", what.starts_with(kLabel) ? what.substr(kLabel.size()) : what, kLeft}};
  table.notes.push_back(kept_line(input));
  const std::size_t shown = rows_to_show(input.look, groups.rows.size(), table.notes);
  bool any_bound = false;
  for (std::size_t i = 0; i < shown; ++i) {
    const RollupRow& row = groups.rows[i];
    any_bound |= row.dominated_is_bound;
    const Cell name = text_cell(groups.names[row.group]);
    table.add({name, cost_cell(input, row.self), cost_cell(input, row.dominated),
               count_cell(row.calls), count_cell(row.entries), count_cell(row.functions),
               flag_cell(row.dominated_is_bound), cost_cell(input, row.self),
               percent_cell(row.self, input.kept),
               cost_cell(input, row.dominated, row.dominated_is_bound),
               percent_cell(row.dominated, input.kept, row.dominated_is_bound),
               count_cell(row.calls), count_cell(row.entries),
               average_cell(input, row.dominated, entries(row), row.dominated_is_bound), name});
  }
  if (functions && any_bound) table.notes.push_back(bound_note());
  return render_table(input, table, "by-" + what);
}

}  // namespace fbleprof::report
