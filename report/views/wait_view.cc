// --waits: where threads wait: in total, by call, by the place of the call, and by length.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "names/shorten.h"
#include "report/text/quantity.h"
#include "report/views/distribution.h"
#include "report/views/phrases.h"
#include "report/views/top_rows.h"
#include "report/views/view.h"
#include "transform/holders.h"
#include "transform/idle.h"

namespace fbleprof::report {

using namespace profile;
using Kind = Column::Kind;

namespace {

// What the rows of a table tell apart.
enum class By { kCall, kPlace, kHolder, kWaker };

// The subject of a row. The table by call has no `caller` and `site`; only those by holder and by
// waker have an `other`: the function that held a lock, or woke the thread, and its callers.
struct Key {
  FunctionId call, caller;
  SiteId site;
  bool is_idle = false;
  std::string other;

  friend bool operator<(const Key& a, const Key& b) {
    const auto order = [](const Key& key) {
      return std::tuple(
          key.call ? key.call.index() + 1 : 0, key.caller ? key.caller.index() + 1 : 0,
          key.site ? key.site.index() + 1 : 0, key.is_idle, std::string_view(key.other));
    };
    return order(a) < order(b);
  }
};

struct Row {
  Key key;
  std::uint64_t waits = 0, total = 0, longest = 0;
  std::uint64_t classes[format::kWaitClasses] = {};
};

std::uint64_t value(const Metric* metric, std::size_t node) {
  return metric != nullptr ? metric->value(NodeId(node)) : 0;
}

// The place of the call that leads to each node.
std::vector<SiteId> sites_of(const Profile& profile) {
  std::vector<SiteId> sites(profile.nodes().count());
  const Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] == EdgeKind::kTree) sites[edges.to[e].index()] = edges.site[e];
  }
  return sites;
}

bool is_idle(const Profile& profile, NodeId node) {
  const FunctionId function = profile.nodes().function[node.index()];
  return profile.functions().kind[function.index()] == FunctionKind::kBlock &&
         profile.text(profile.functions().name[function.index()]) == transform::kIdle;
}

// Who ended waits: the names of a function and its callers.
struct Other {
  std::string names;
  bool is_holder = false;
};

// Leads from the context of who ended waits up to the call that waited.
Other climb_from_other(const Profile& profile, NodeId& node) {
  const Nodes& nodes = profile.nodes();
  Other other;
  for (; nodes.parent[node.index()]; node = nodes.parent[node.index()]) {
    const FunctionId function = nodes.function[node.index()];
    if (profile.functions().kind[function.index()] != FunctionKind::kBlock) break;
    const std::string_view name = profile.text(profile.functions().name[function.index()]);
    const std::string_view holder = transform::holder_in(name), waker = transform::waker_in(name);
    if (holder.empty() && waker.empty()) break;
    other.is_holder = !holder.empty();
    if (!other.names.empty()) other.names.insert(0, " ← ");
    other.names.insert(0, other.is_holder ? holder : waker);
  }
  return other;
}

std::vector<const Metric*> wait_classes(const Profile& profile) {
  std::vector<const Metric*> classes;
  for (const Metric& metric : profile.metrics()) {
    if (metric.role == Role::kWaitClass) classes.push_back(&metric);
  }
  classes.resize(std::min<std::size_t>(classes.size(), format::kWaitClasses));
  return classes;
}

std::vector<Row> rows_of(const Profile& profile, By by) {
  const Metric *wait = profile.find_metric(Role::kWaitTime),
               *waits = profile.find_metric(Role::kWaits),
               *longest = profile.find_metric(Role::kLongestWait);
  std::vector<Row> rows;
  if (wait == nullptr || !wait->values) return rows;
  const std::vector<SiteId> sites = sites_of(profile);
  const Nodes& nodes = profile.nodes();
  const std::vector<const Metric*> classes = wait_classes(profile);
  std::map<Key, Row> by_key;
  wait->values->each([&](std::size_t n, std::uint64_t ns) {
    NodeId node(n);
    Key key;
    key.is_idle = is_idle(profile, node) && nodes.parent[n];
    if (key.is_idle) node = nodes.parent[n];
    Other other = climb_from_other(profile, node);
    if (by == By::kHolder || by == By::kWaker) {
      if (other.names.empty() || other.is_holder != (by == By::kHolder)) return;
      key.other = std::move(other.names);
      key.is_idle = false;  // the same wait, whether it is for work or not
    }
    key.call = nodes.function[node.index()];
    if (const NodeId caller = nodes.parent[node.index()]; by != By::kCall && caller) {
      key.caller = nodes.function[caller.index()];
      key.site = sites[node.index()];
    }
    Row& row = by_key[key];
    row.key = key;
    row.total += ns;
    row.waits += value(waits, n);
    row.longest = std::max(row.longest, value(longest, n));
    for (std::size_t i = 0; i < classes.size(); ++i) row.classes[i] += value(classes[i], n);
  });
  rows.reserve(by_key.size());
  for (const auto& [key, row] : by_key) rows.push_back(row);
  return rows;
}

Cell time_cell(const Request& request, std::uint64_t ns) {
  return shown_as(number_cell(ns), ns != 0 ? quantity(ns, "ns", request.look.unit) : "");
}

std::string place_of(const Profile& profile, SiteId site) {
  if (!site) return {};
  const std::string_view file = profile.text(profile.sites().file[site.index()]);
  if (file.empty()) return {};
  return fmt::format("{}:{}", base_name(file), profile.sites().line[site.index()]);
}

Table totals(const Request& request) {
  Table table;
  table.key = "totals";
  table.title = "In all";
  table.columns = {{"name", "figure", Kind::kText}, {"unit", "", Kind::kText}, {"total", "total"}};
  const auto add = [&](const Metric* metric) {
    if (metric == nullptr) return;
    const std::uint64_t total = analysis::total(request.profile(), *metric);
    table.add({text_cell(metric->name), text_cell(metric->unit),
               shown_as(number_cell(total), quantity(total, metric->unit, request.look.unit))});
  };
  for (const Role role : {Role::kCpuTime, Role::kWaitTime, Role::kUnseenTime, Role::kWaits,
                          Role::kLongestWait, Role::kReadyTime}) {
    add(request.profile().find_metric(role));
  }
  return table;
}

// What all tables of calls begin with.
std::vector<Column> call_columns(Kind caller) {
  return {{"call", "", Kind::kName},         {"caller", "", caller},
          {"file", "", Kind::kText},         {"line", "", Kind::kNumber},
          {"total", "waited", Kind::kCount}, {"waits", "waits", Kind::kCount},
          {"mean", "mean", Kind::kCount},    {"longest", "longest", Kind::kCount}};
}

std::vector<Cell> call_cells(const Request& request, const Row& row) {
  const Key& key = row.key;
  const auto& sites = request.profile().sites();
  return {name_cell(key.call),
          key.caller ? name_cell(key.caller) : text_cell(""),
          text_cell(key.site ? request.profile().text(sites.file[key.site.index()]) : ""),
          number_cell(key.site ? sites.line[key.site.index()] : 0),
          time_cell(request, row.total),
          number_cell(row.waits),
          time_cell(request, row.waits != 0 ? row.total / row.waits : 0),
          time_cell(request, row.longest)};
}

// "caller → call", and what follows it.
Cell path_cell(const Key& key, const std::string& behind) {
  Pieces pieces;
  if (key.caller) pieces = {{{}, key.caller}, {" → ", {}}};
  pieces.push_back({{}, key.call});
  if (!behind.empty()) pieces.push_back({behind, {}});
  return name_cell(std::move(pieces), {});
}

// Who held a lock, or woke, and its callers: names of some of them must fit the column.
Cell other_cell(const Look& look, const std::string& other) {
  if (look.width == 0 || look.format != Format::kText) return text_cell(other);
  constexpr std::string_view kCaller = " ← ";
  std::string text;
  for (std::size_t at = 0; at <= other.size();) {
    const std::size_t end = std::min(other.find(kCaller, at), other.size());
    if (at != 0) text += kCaller;
    text += names::shorten(std::string_view(other).substr(at, end - at), look.width / 4);
    at = end + kCaller.size();
  }
  return text_cell(text);
}

Table waits_table(const Request& request, bool by_place, std::vector<FunctionId>& named) {
  const Profile& profile = request.profile();
  Table table;
  table.key = by_place ? "places" : "rows";
  table.title = by_place ? "By the place of the call" : "By call";
  table.columns = call_columns(by_place ? Kind::kName : Kind::kText);
  table.columns.insert(table.columns.end(), {{"idle", "", Kind::kFlag},
                                             {"", by_place ? "caller → call" : "call", Kind::kName},
                                             {"", by_place ? "place" : "", Kind::kText}});
  const std::vector<Row> rows = rows_of(profile, by_place ? By::kPlace : By::kCall);
  const std::size_t shown = rows_to_show(request.look, rows.size(), table.notes);
  for (const Row& row : top_rows(rows, shown, [](const Row&a, const Row&b) {
         return a.total != b.total ? a.total > b.total : a.waits > b.waits;
       })) {
    const Key& key = row.key;
    const std::string idle = key.is_idle ? "  [idle]" : "";
    named.push_back(key.call);
    if (key.caller) named.push_back(key.caller);
    std::vector<Cell> cells = call_cells(request, row);
    cells.push_back(flag_cell(key.is_idle));
    cells.push_back(path_cell(key, idle));
    cells.push_back(text_cell(place_of(profile, key.site)));
    table.add(std::move(cells));
  }
  return table;
}

// A column for each class of lengths, from shortest to longest.
std::string bars(const Row& row) {
  constexpr const char* kBars[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::uint64_t most = *std::max_element(std::begin(row.classes), std::end(row.classes));
  std::string text;
  for (const std::uint64_t count : row.classes) {
    text += kBars[most != 0 ? (count * 8 + most - 1) / most : 0];
  }
  return text;
}

// Which place of a call waited for whom: holders of locks, or those that woke it.
Table pairs(const Request& request, By by, std::vector<FunctionId>& named) {
  const Profile& profile = request.profile();
  const bool by_holder = by == By::kHolder;
  Table table;
  table.key = by_holder ? "contention" : "wakeups";
  table.title = by_holder ? "Locks: who waited, and who held the lock"
                          : "Conditions, semaphores, futexes, pipes: who waited, and who woke it";
  table.columns = call_columns(Kind::kName);
  table.columns.insert(table.columns.end(), {{"", "lengths", Kind::kText},
                                             {"", "caller → call", Kind::kName},
                                             by_holder ? Column{"holder", "held by", Kind::kName}
                                                       : Column{"waker", "woken by", Kind::kName},
                                             {"", "place", Kind::kText}});
  const std::vector<const Metric*> classes = wait_classes(profile);
  for (const Metric* metric : classes) {
    std::string key = metric->name;
    std::replace(key.begin(), key.end(), '-', '_');
    table.columns.push_back({std::move(key), "", Kind::kCount});
  }
  const std::vector<Row> rows = rows_of(profile, by);
  const std::size_t shown = rows_to_show(request.look, rows.size(), table.notes);
  for (const Row& row :
       top_rows(rows, shown, [](const Row&a, const Row&b) { return a.total > b.total; })) {
    const Key& key = row.key;
    named.push_back(key.call);
    if (key.caller) named.push_back(key.caller);
    std::vector<Cell> cells = call_cells(request, row);
    cells.push_back(text_cell(bars(row)));
    cells.push_back(path_cell(key, ""));
    cells.push_back(other_cell(request.look, key.other));
    cells.push_back(text_cell(place_of(profile, key.site)));
    for (std::size_t i = 0; i < classes.size(); ++i) {
      cells.push_back(number_cell(row.classes[i]));
    }
    table.add(std::move(cells));
  }
  return table;
}

// By function: how long others waited for the function itself, without its callees.
Table holders(const Request& request, std::vector<FunctionId>& named) {
  constexpr const char* kFigures[] = {"held", "holds", "woke", "wakes"};
  struct Holder {
    FunctionId function;
    std::uint64_t values[std::size(kFigures)] = {};
  };
  const Profile& profile = request.profile();
  std::vector<Holder> holders(profile.functions().count());
  for (std::size_t f = 0; f < holders.size(); ++f) holders[f].function = FunctionId(f);
  for (std::size_t i = 0; i < std::size(kFigures); ++i) {
    const Metric* metric = profile.find_metric(kFigures[i]);
    if (metric == nullptr || !metric->values) continue;
    metric->values->each([&](std::size_t node, std::uint64_t value) {
      holders[profile.nodes().function[node].index()].values[i] += value;
    });
  }
  std::erase_if(holders,
                [](const Holder& holder) { return holder.values[0] + holder.values[2] == 0; });
  Table table;
  table.key = "holders";
  table.title = "Whom others waited for: who held a lock, who woke";
  table.columns = {{"name", "function", Kind::kName},
                   {"held", "held", Kind::kCount},
                   {"holds", "times", Kind::kCount},
                   {"woke", "woke after", Kind::kCount},
                   {"wakes", "times", Kind::kCount}};
  const std::size_t shown = rows_to_show(request.look, holders.size(), table.notes);
  for (const Holder& holder : top_rows(holders, shown, [](const Holder&a, const Holder&b) {
         return a.values[0] != b.values[0] ? a.values[0] > b.values[0] : a.values[2] > b.values[2];
       })) {
    named.push_back(holder.function);
    table.add({name_cell(holder.function), time_cell(request, holder.values[0]),
               number_cell(holder.values[1]), time_cell(request, holder.values[2]),
               number_cell(holder.values[3])});
  }
  return table;
}

Result<Document> waits(const Request& request) {
  Document document = request.document("waits");
  std::vector<FunctionId> named;
  document.tables.push_back(totals(request));
  document.tables.push_back(waits_table(request, false, named));
  document.tables.push_back(waits_table(request, true, named));
  document.tables.push_back(pairs(request, By::kHolder, named));
  document.tables.push_back(pairs(request, By::kWaker, named));
  document.tables.push_back(holders(request, named));
  document.tables.push_back(distribution(request, "lengths", "By length", "waited-", "waits"));
  document.flat = document.tables[1];
  if (request.profile().find_metric(Role::kWaitTime) == nullptr) {
    document.notes.push_back("this profile holds no waits: fble-prof --waits records them");
    return document;
  }
  document.notes.push_back(
      "waits below 20 us are gathered and count as one; [idle]: waits for work, which --busy "
      "leaves out");
  document.notes.push_back(
      "unseen: off the processor, but in no call that is recorded: waiting for a processor, for a "
      "page, or in a system call of the program's own; preempted: ready to run, while others had "
      "the "
      "processor");
  document.notes.push_back("contexts: --metric wait, held, woke with any view");
  if (request.look.format == Format::kText) document.names = document.names.marked(named);
  return document;
}

const Register kWaits({
    .name = "waits",
    .help = "where threads wait: calls that block, by call and place, how long and how often",
    .manual =
        "Where threads waited (recorded with \\fBfble-prof \\-\\-waits\\fR or\n"
        "\\fB\\-\\-clock=wall\\fR): totals; each call that blocks, and each place that makes "
        "it, with the\n"
        "time waited there, how often, the mean and the longest; who held the lock that another "
        "context\nwaited for, and who woke it, with the same figures and the lengths of these "
        "waits; and all\nwaits by length.\n"
        "\\fIunseen\\fR is time off the processor in no known call: waiting for a processor "
        "or a page.\n"
        "\\fIpreempted\\fR is the time in which the thread was ready to run, but others had the "
        "processor.\n"
        "Waits for work are marked \\fB[idle]\\fR: those in epoll_wait, accept, sigwait, "
        "pause and the\n"
        "like, and those for another thread or process (conditions, semaphores, poll, read) "
        "in one\n"
        "context in which a thread spent at least half of its elapsed time.\n"
        "\\fB\\-\\-busy\\fR leaves them out, in every view.",
    .topic = View::Topic::kFunctions,
    .limits = "top",
    .has_other_units = true,
    .has_own_metrics = true,
    .needs = [](const std::string&) { return Needs{.splits = {}, .sites = true, .lines = true}; },
    .show = waits,
});

}  // namespace
}  // namespace fbleprof::report
