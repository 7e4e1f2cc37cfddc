// --overview: one screen of 80 x 24 that says where to look first.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/compact_path.h"
#include "analysis/hot_path.h"
#include "analysis/run_facts.h"
#include "analysis/tables.h"
#include "base/capped.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/heading.h"
#include "report/views/path_text.h"
#include "report/views/phrases.h"
#include "report/views/recursion.h"
#include "report/views/top_rows.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::FunctionRow;
using analysis::reached_hz;
using analysis::run_facts;
using analysis::RunFacts;
using analysis::tree_total;
using Kind = Column::Kind;

namespace {

constexpr std::size_t kRows = 6;  // of each table
constexpr std::size_t kRecursions = 2;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kWays = 3;     // of the fork at the end of the hot path
constexpr std::size_t kRemarks = 3;  // losses and warnings for people
constexpr std::size_t kTitle = 11;   // columns
constexpr std::size_t kScreen = 80;  // columns, where the width is not limited

std::vector<FunctionRow> top_functions(const std::vector<FunctionRow>& all, bool by_self) {
  const auto key = [&](const FunctionRow& row) { return by_self ? row.self : row.dominated; };
  std::vector<FunctionRow> rows = top_rows(
      all, kRows, [&](const FunctionRow& a, const FunctionRow& b) { return key(a) > key(b); });
  std::size_t shown = 0;
  while (shown < rows.size() && shown < kRows && key(rows[shown]) != 0) ++shown;
  rows.resize(shown);
  return rows;
}

struct Way {
  std::string name;
  std::uint64_t cost;
};

// The fork at the end of the hot path, with its own cost.
std::vector<Way> ways_from(const Request& request, const std::vector<NodeId>& path) {
  std::vector<Way> ways;
  if (path.empty()) return ways;
  const Nodes& nodes = request.profile().nodes();
  const std::vector<std::uint64_t>& cost = request.costs.inclusive();
  const std::uint32_t end = path.back().index();
  if (const std::uint64_t own = request.costs.own(path.back()); own != 0) {
    ways.push_back({"[self]", own});
  }
  for (std::uint32_t c = end + 1; c < nodes.subtree_end[end]; c = nodes.subtree_end[c]) {
    if (cost[c] != 0) ways.push_back({request.names().fit(nodes.function[c], 24), cost[c]});
  }
  std::stable_sort(ways.begin(), ways.end(),
                   [](const Way& a, const Way& b) { return a.cost > b.cost; });
  return ways;
}

// What the view says about the runs; threads are still apart.
struct RunOverview {
  struct Share {
    std::string name;  // escaped
    std::uint64_t cost = 0;
  };
  std::string heading;         // lines
  std::vector<Share> threads;  // the most expensive first
  std::uint64_t all_threads = 0;
  std::vector<std::string> losses;  // a line each, escaped
};

struct RecursionLine {
  std::string name, kind, depth;
  std::uint64_t cost = 0;
};

// The most expensive recursion.
std::vector<RecursionLine> recursion_lines(const Request& request) {
  const analysis::Cliques& cliques = request.costs.tables().cliques();
  std::vector<RecursionLine> lines;
  for (const analysis::Clique& clique : cliques.cliques) {
    if (clique.recursion == analysis::Recursion::kNone || lines.size() == kRecursions) continue;
    lines.push_back({clique_label(request.names(), clique, 24), kind_name(clique.recursion),
                     depth_text(clique), clique.cost});
  }
  return lines;
}

std::string overview_text(const Request& request, const RunOverview& run, const Look& look) {
  const std::size_t width = look.width == 0 ? kScreen : look.width;
  const std::size_t half = (width - 3) / 2;
  std::string out = run.heading + "\n";
  const auto share = [&](std::uint64_t cost) { return percent(cost, request.costs.total()); };

  // Two tables side by side.
  const auto& functions = request.costs.tables().functions();
  const auto self = top_functions(functions, true), dominated = top_functions(functions, false);
  std::vector<FunctionId> named;
  for (const FunctionRow& row : self) named.push_back(row.function);
  for (const FunctionRow& row : dominated) named.push_back(row.function);
  const Names names = request.names().marked(std::move(named));
  // Figures and a name in each half of the line; cut names stay distinct.
  constexpr std::size_t kFigures = 7 + 1 + 8 + 2;
  const auto fitted = [&](const std::vector<FunctionRow>& rows) {
    std::vector<Pieces> lines;
    for (const FunctionRow& row : rows) lines.push_back({{{}, row.function}});
    return names.fit(lines, half > kFigures ? half - kFigures : 1);
  };
  const std::vector<std::string> self_names = fitted(self), dominated_names = fitted(dominated);
  const auto cell = [&](const std::vector<FunctionRow>& rows, std::size_t i, bool by_self) {
    if (i >= rows.size()) return std::string();
    const std::uint64_t cost = by_self ? rows[i].self : rows[i].dominated;
    const bool is_bound = !by_self && rows[i].dominated_is_bound;
    return pad_left((is_bound ? "≥" : "") + share(cost), 7) + " " +
           pad_left(request.amount(cost), 8) + "  " + (by_self ? self_names : dominated_names)[i];
  };
  out += paint(look, Ink::kBold, pad_right("   self", half)) + " │ " +
         paint(look, Ink::kBold, "   dominated") + "\n";
  for (std::size_t i = 0; i < std::max(self.size(), dominated.size()); ++i) {
    out += pad_right(cell(self, i, true), half) + " │ " + cell(dominated, i, false) + "\n";
  }
  out += "\n";

  const auto put = [&](std::string_view title, const std::string& text, Ink ink = Ink::kPlain) {
    out += paint(look, Ink::kDim, pad_right(title, kTitle)) +
           paint(look, ink, cut(text, width > kTitle ? width - kTitle : 1)) + "\n";
  };
  const auto path = analysis::hot_path(request.costs);
  if (!path.empty()) {
    const std::string end = share(request.costs.inclusive()[path.back().index()]) + "  ";
    put("hot path", end + path_text(names, analysis::path_to(request.profile(), path.back()),
                                    width - kTitle - width_of(end)));
    std::string forks;
    const auto ways = ways_from(request, path);
    for (std::size_t i = 0; i < ways.size() && i < kWays; ++i) {
      forks += fmt::format("{}{} {}", i == 0 ? "" : ", ", ways[i].name, share(ways[i].cost));
    }
    if (ways.size() > kWays) forks += fmt::format(", {} more", ways.size() - kWays);
    if (!forks.empty()) put("  there", forks);
  }
  bool first = true;
  for (const RecursionLine& line : recursion_lines(request)) {
    put(first ? "recursion" : "",
        fmt::format("{}  {}, depth {}: {}", share(line.cost), line.kind, line.depth, line.name));
    first = false;
  }
  if (run.all_threads > 1) {
    std::uint64_t all = 0;
    for (const auto& thread : run.threads) request.costs.add(all, thread.cost);
    std::string text = count(run.all_threads) + ": ";
    for (std::size_t i = 0; i < run.threads.size() && i < kThreads; ++i) {
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", run.threads[i].name,
                          percent(run.threads[i].cost, all));
    }
    if (run.threads.size() > kThreads) {
      text += fmt::format(", {} more", run.threads.size() - kThreads);
    }
    // Filters choose contexts; the runs are as recorded.
    if (request.unfiltered != nullptr) text += " (unfiltered)";
    put("threads", text);
  }
  std::size_t remarks = 0;
  const auto put_all = [&](std::string_view title, const std::vector<std::string>& lines, Ink ink) {
    for (const std::string& line : lines) {
      if (remarks++ < kRemarks) put(title, line, ink);
    }
  };
  put_all("lost", run.losses, Ink::kWarm);
  put_all("warning", request.warnings, Ink::kWarm);
  if (remarks > kRemarks) put("", fmt::format("… {} more (--summary)", remarks - kRemarks));
  if (remarks == 0) put("lost", "nothing");
  out += paint(look, Ink::kDim, cut(kept_line(request), width)) + "\n";
  return out;
}

// Rows for programs.
Table overview_table(const Request& request, const RunOverview& run) {
  Table table;
  table.key = "rows";
  table.columns = {{"section", "", Kind::kText},
                   {"name", "", Kind::kName},
                   {"cost", "", Kind::kCost},
                   {"calls", ""},
                   {"detail", "", Kind::kText}};
  const auto add = [&](const char* section, Cell name, std::uint64_t cost, std::uint64_t calls,
                       std::string_view detail = {}) {
    table.add({text_cell(section), std::move(name), number_cell(cost), number_cell(calls),
               text_cell(detail)});
  };
  const auto line = [&](const std::string& text) { return raw_cell(text); };
  const auto& functions = request.costs.tables().functions();
  for (const FunctionRow& row : top_functions(functions, true)) {
    add("self", name_cell(row.function), row.self, row.calls);
  }
  for (const FunctionRow& row : top_functions(functions, false)) {
    add("dominated", name_cell(row.function), row.dominated, row.calls,
        row.dominated_is_bound ? "at least" : "");
  }
  for (const NodeId node : analysis::hot_path(request.costs)) {
    add("hot", name_cell(request.profile().nodes().function[node.index()]),
        request.costs.inclusive()[node.index()], request.costs.calls(node));
  }
  for (const RecursionLine& recursion : recursion_lines(request)) {
    add("recursion", line(recursion.name), recursion.cost, 0, recursion.kind);
  }
  for (const auto& thread : run.threads) add("thread", line(thread.name), thread.cost, 0);
  for (const std::string& loss : run.losses) add("lost", line(loss), 0, 0);
  for (const std::string& warning : request.warnings) add("warning", line(warning), 0, 0);
  return table;
}

// Of a tree without a thread: many files were merged while they were read.
std::string merged_name(const Profile& profile) {
  const auto& processes = profile.processes();
  const auto merged = std::count_if(processes.begin(), processes.end(),
                                    [](const Process& process) { return !process.totals.empty(); });
  return merged == 0 ? "not known" : counted(static_cast<std::uint64_t>(merged), "process");
}

RunOverview run_overview(const Request& request) {
  const Profile& as_read = request.runs;
  RunOverview run;
  Look narrow = request.look;
  if (narrow.width == 0) narrow.width = kScreen;
  run.heading = heading(as_read, request.has_sampled_times, narrow);
  for (const Tree& tree : as_read.trees()) {
    RunOverview::Share share;
    share.cost = tree_total(as_read, &request.metric(), tree);
    if (tree.thread) {
      const Thread& thread = as_read.threads()[tree.thread.index()];
      share.name = escape(as_read.text(thread.name));
      if (share.name.empty()) share.name = std::to_string(thread.tid);
    } else {
      share.name = merged_name(as_read);
    }
    run.threads.push_back(std::move(share));
  }
  std::stable_sort(run.threads.begin(), run.threads.end(),
                   [](const auto& a, const auto& b) { return a.cost > b.cost; });
  const RunFacts facts = run_facts(as_read, ProcessId());
  run.all_threads = facts.threads;
  std::uint64_t overflow = 0, no_room = 0, threads = 0, children = 0, foreign = 0;
  for (const Process& process : as_read.processes()) {
    std::uint64_t& folded = process.reached_memory_limit() ? overflow : no_room;
    folded = capped_sum(folded, process.overflow_contexts);
    threads = capped_sum(threads, process.lost_threads);
    children = capped_sum(children, process.lost_children);
    foreign = capped_sum(foreign, process.foreign_signals);
  }
  if (const std::string text = unrecorded_text(facts); !text.empty()) run.losses.push_back(text);
  struct Loss {
    std::uint64_t number;
    const char *one, *what;  // "1 call could not be ..."
  };
  const Loss losses[] = {
      {overflow, "context", "folded into [overflow]: the memory limit was reached"},
      {no_room, "context", "folded into [overflow]: disk full, file ended or program confined"},
      {facts.lost_calls, "call", "that could not be counted in context"},
      {facts.deep_calls, "call", "beyond the end of the shadow stack"},
      {threads, "thread", "not profiled"},
      {children, "child process", "not profiled"},
      {facts.unmatched, "call", kUnmatchedLeaves},
      {foreign, "signal", "of the program's own use of SIGPROF, passed on"}};
  for (const auto& [number, one, what] : losses) {
    if (number != 0) run.losses.push_back(counted(number, one) + " " + what);
  }
  return run;
}

Result<Document> overview(const Request& request) {
  Document document = request.document("overview");
  const RunOverview run = run_overview(request);
  document.tables = {overview_table(request, run)};
  document.text = [request, run](const Look& look) { return overview_text(request, run, look); };
  return document;
}

const Register kOverview({
    .name = "overview",
    .help = "one screen: what ran, where the cost is, recursion, threads, what was lost",
    .manual = "One screen of 80 by 24: what ran, the most expensive functions, the hot path,\n"
              "recursion, threads, what was lost, warnings.",
    .topic = View::Topic::kOverview,
    .shows_warnings = true,
    .show = overview,
});

}  // namespace
}  // namespace fbleprof::report
