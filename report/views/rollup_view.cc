// --by: a table of modules, files, namespaces, classes, or of threads, processes, hosts, ranks and
// labels.
#include "analysis/rollup.h"

#include <algorithm>
#include <unordered_map>

#include "base/capped.h"
#include "names/parts.h"
#include "report/views/phrases.h"
#include "report/views/view.h"
#include "transform/holders.h"
#include "transform/idle.h"
#include "transform/same_module.h"

namespace fbleprof::report {

using namespace profile;
using analysis::RollupRow;
using Kind = Column::Kind;

namespace {

constexpr std::string_view kLabel = "label:";
// The recorder labels the profiles of MPI programs with their rank.
constexpr std::string_view kRankLabel = "mpi_rank";

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

// Stands for what waited, not for a function: who ended the wait, or that it was idle.
bool is_of_wait(const Profile& profile, FunctionId function) {
  const Functions& functions = profile.functions();
  const std::size_t f = function.index();
  if ((functions.flags[f] & format::kFunctionStandIn) != 0) return true;
  const std::string_view name = profile.text(functions.name[f]);
  return functions.kind[f] == FunctionKind::kBlock &&
         (name == transform::kIdle || !transform::holder_in(name).empty() ||
          !transform::waker_in(name).empty());
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
      what == "class" ? names::scope_of(name) : names::outermost_scope_of(name);
  return scope.empty() ? "(global)" : scope;
}

// The parts by name, and their rows.
struct Parts {
  std::vector<std::string> names;
  std::vector<RollupRow> rows;
  std::vector<std::uint8_t> counts_some;  // by part; of parts beyond its end all calls were counted
};

// The cost of [root] is no part's, but without it the shares would not add up.
void add_root(const Request& request, Parts* parts) {
  const NodeId root(0);
  const Nodes& nodes = request.profile().nodes();
  if (nodes.count() == 0 || request.costs.own(root) == 0) return;
  RollupRow& row = parts->rows.emplace_back();
  row.part = static_cast<std::uint32_t>(parts->names.size());
  parts->names.push_back(display_name(request.profile(), nodes.function[root.index()]));
  row.self = request.costs.own(root);
  row.dominated = request.costs.inclusive()[root.index()];
  row.dominated_is_bound = request.costs.is_bound()[root.index()] != 0;
  row.functions = 1;
}

Parts of_functions(const Request& request, std::string_view what) {
  Parts parts;
  std::unordered_map<std::string, std::uint32_t> index;
  const std::vector<std::string> modules = module_names(request.profile());
  std::vector<std::uint32_t> part_of(request.profile().functions().count(), analysis::kNoPart);
  for (const FunctionId function : request.profile().nodes().function) {
    std::uint32_t& part = part_of[function.index()];
    const FunctionKind kind = request.profile().functions().kind[function.index()];
    if (part != analysis::kNoPart || kind == FunctionKind::kRoot) continue;
    if (is_of_wait(request.profile(), function)) {
      part = analysis::kPartOfCaller;
      continue;
    }
    std::string name = name_of(request.profile(), function, what, modules);
    const auto [at, added] =
        index.try_emplace(name, static_cast<std::uint32_t>(parts.names.size()));
    if (added) parts.names.push_back(std::move(name));
    part = at->second;
    parts.counts_some.resize(parts.names.size());
    parts.counts_some[part] |= counts_some_calls(request.profile(), function);
  }
  parts.rows = analysis::rollup(request.costs, part_of);
  add_root(request, &parts);
  return parts;
}

// Each child of the root is a part, as the merge made them.
Parts of_trees(const Request& request) {
  const Nodes& nodes = request.profile().nodes();
  const std::vector<std::uint64_t>& cost = request.costs.inclusive();
  Parts parts;
  for (std::uint32_t n = 1; n < nodes.count(); n = nodes.subtree_end[n]) {
    RollupRow& row = parts.rows.emplace_back();
    row.part = static_cast<std::uint32_t>(parts.names.size());
    parts.names.push_back(display_name(request.profile(), nodes.function[n]));
    row.self = row.dominated = cost[n];
    bool counts_some = false;
    for (std::uint32_t c = n; c < nodes.subtree_end[n]; ++c) {
      row.calls += request.costs.calls(NodeId(c));
      counts_some |= counts_some_calls(request.profile(), nodes.function[c]);
    }
    parts.counts_some.push_back(counts_some);
  }
  return parts;
}

std::string check(const std::string& what) {
  if (is_of_functions(what)) return {};
  for (const std::string_view known : {"thread", "process", "host", "rank"}) {
    if (what == known) return {};
  }
  if (what.starts_with(kLabel) && what.size() > kLabel.size()) return {};
  return "--by " + what +
         ": module, file, namespace, class, thread, process, host, rank or label:KEY";
}

// The merge tells runs apart.
Needs needs(const std::string& what) {
  Needs needs{.splits = {}, .lines = what == "file"};
  if (is_of_functions(what)) return needs;
  std::string split(what);
  if (what == "rank") split = std::string(kLabel) + std::string(kRankLabel);
  if (auto parsed = transform::parse_split(split)) needs.splits.push_back(*parsed);
  return needs;
}

Result<Document> rollup_view(const Request& request) {
  const std::string& what = request.value;
  const bool functions = is_of_functions(what);
  Parts parts = functions ? of_functions(request, what) : of_trees(request);
  const std::string& sort = request.look.sort;
  const auto is_some = [&](const RollupRow& row) {
    return row.part < parts.counts_some.size() && parts.counts_some[row.part] != 0;
  };
  // The calls that its row's average is of; 0: it has none.
  const auto entries = [&](const RollupRow& row) -> std::uint64_t {
    if (is_some(row) || !request.costs.is_sum()) return 0;
    return functions ? row.entries : row.calls;
  };
  const auto average = [&](const RollupRow& row) {
    return entries(row) == 0 ? 0 : rounded_quotient(row.dominated, entries(row));
  };
  std::stable_sort(parts.rows.begin(), parts.rows.end(),
                   [&](const RollupRow& a, const RollupRow& b) {
                     if (sort == "name") return parts.names[a.part] < parts.names[b.part];
                     if (sort == "calls" && a.calls != b.calls) return a.calls > b.calls;
                     if (sort == "per-call" && average(a) != average(b)) {
                       return average(a) > average(b);
                     }
                     if (sort == "dominated" && a.dominated != b.dominated) {
                       return a.dominated > b.dominated;
                     }
                     return a.self != b.self ? a.self > b.self : a.dominated > b.dominated;
                   });

  Document document = request.document("by-" + what);
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  // In text a run has one figure; for a part, calls from outside are the useful count.
  const auto for_parts = [&](const char* title) { return functions ? title : ""; };
  table.columns = {
      {"name", what.starts_with(kLabel) ? what.substr(kLabel.size()) : what, Kind::kText},
      {"self", functions ? "self" : "cost", Kind::kCost},
      {"", "%", Kind::kShare},
      {"dominated", for_parts("dominated"), Kind::kCost},
      {"", for_parts("%"), Kind::kShare},
      {"calls", "calls"},
      {"entries", for_parts("from outside")},
      {"", "per call", Kind::kCost},
      {"functions", ""},
      {"dominated_is_bound", "", Kind::kFlag}};
  table.notes.push_back(kept_line(request));
  const std::size_t shown = rows_to_show(request.look, parts.rows.size(), table.notes);
  bool any_bound = false, any_some = false;
  for (std::size_t i = 0; i < shown; ++i) {
    const RollupRow& row = parts.rows[i];
    const bool is_bound = row.dominated_is_bound;
    any_bound |= is_bound;
    any_some |= is_some(row) && row.calls != 0;
    table.add({text_cell(parts.names[row.part]), number_cell(row.self), number_cell(row.self),
               number_cell(row.dominated, is_bound), number_cell(row.dominated, is_bound),
               number_cell(row.calls, is_some(row) && row.calls != 0),
               number_cell(row.entries, is_some(row) && row.entries != 0),
               average_cell(row.dominated, entries(row), is_bound), number_cell(row.functions),
               flag_cell(is_bound)});
  }
  if (functions && any_bound) table.notes.push_back(kBoundNote);
  if (any_some) table.notes.push_back(kSomeCallsNote);
  return document;
}

const Register kBy({
    .name = "by",
    .value = "WHAT",
    .words = "module file namespace class thread process host rank label:",
    .example = "module",
    .help = "totals by module, file, namespace or class; or by thread, process, host, rank or "
            "label:KEY",
    .manual =
        "One row for each part of the program: its self cost, the cost of all paths that contain\n"
        "one of its functions (a path counts once), calls, calls from outside the part, and the\n"
        "cost of each such call.\n"
        "A row\n"
        ".B [root]\n"
        "holds what no part can be charged with.\n"
        ".IR WHAT :\n"
        ".B module\n"
        "(shared library or program),\n"
        ".B file\n"
        "(of the source),\n"
        ".B namespace\n"
        "(the outermost scope of the name),\n"
        ".B class\n"
        "(the whole scope; names do not show whether it is a class or a namespace); or by run:\n"
        ".BR thread \", \" process \", \" host \", \" rank\n"
        "(of MPI) or\n"
        ".BI label: KEY\\fR;\n"
        "see\n"
        ".BR LABELS .",
    .topic = View::Topic::kGroups,
    .sort_keys = "self dominated calls per-call name",
    .limits = "top",
    .check = check,
    .needs = needs,
    .show = rollup_view,
});

}  // namespace
}  // namespace fbleprof::report
