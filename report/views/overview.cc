#include "report/views/overview.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "analysis/compact_path.h"
#include "analysis/costs.h"
#include "analysis/functions.h"
#include "analysis/hot_path.h"
#include "base/capped.h"
#include "report/text/escape.h"
#include "report/text/namesakes.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/clique_view.h"
#include "report/views/path_text.h"
#include "report/views/run_facts.h"
#include "report/views/run_view.h"
#include "report/views/tables.h"

namespace fbleprof::report {

using namespace profile;
using analysis::FunctionRow;

namespace {

constexpr std::size_t kRows = 6;  // of each table
constexpr std::size_t kRecursions = 2;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kWays = 3;     // of the fork at the end of the hot path
constexpr std::size_t kRemarks = 3;  // losses and warnings for people
constexpr std::size_t kTitle = 11;   // columns
constexpr std::size_t kScreen = 80;  // columns, where the width is not limited

std::vector<FunctionRow> top_functions(std::vector<FunctionRow> rows, bool by_self) {
  const auto key = [&](const FunctionRow& row) { return by_self ? row.self : row.dominated; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const FunctionRow& a, const FunctionRow& b) { return key(a) > key(b); });
  std::size_t shown = 0;
  while (shown < rows.size() && shown < kRows && key(rows[shown]) != 0) ++shown;
  rows.resize(shown);
  return rows;
}

struct Way {
  std::string name;
  std::uint64_t cost;
};

// What the end of the hot path forks into, with its own cost.
std::vector<Way> ways_from(const Input& input, const std::vector<NodeId>& path,
                           const std::vector<std::uint64_t>& cost) {
  std::vector<Way> ways;
  if (path.empty()) return ways;
  const Nodes& nodes = input.profile.nodes();
  const std::uint32_t end = path.back().index();
  if (const std::uint64_t own = input.metric.value(path.back()); own != 0) {
    ways.push_back({"[self]", own});
  }
  for (std::uint32_t c = end + 1; c < nodes.subtree_end[end]; c = nodes.subtree_end[c]) {
    if (cost[c] != 0) ways.push_back({short_label(input, nodes.function[c], 24), cost[c]});
  }
  std::stable_sort(ways.begin(), ways.end(),
                   [](const Way& a, const Way& b) { return a.cost > b.cost; });
  return ways;
}

std::string overview_text(const Input& input, const RunOverview& run) {
  const Look& look = input.look;
  const std::size_t width = look.width == 0 ? kScreen : look.width;
  const std::size_t half = (width - 3) / 2;
  std::string out = run.heading + "\n";
  const auto share = [&](std::uint64_t cost) { return percent(cost, input.kept); };

  // Two tables side by side.
  const auto functions = analysis::function_table(input.profile, input.metric);
  const auto self = top_functions(functions, true), dominated = top_functions(functions, false);
  std::vector<FunctionId> named;
  for (const FunctionRow& row : self) named.push_back(row.function);
  for (const FunctionRow& row : dominated) named.push_back(row.function);
  const Input marked = with_marks(input, std::move(named));
  const auto cell = [&](const std::vector<FunctionRow>& rows, std::size_t i, bool by_self) {
    if (i >= rows.size()) return std::string();
    const std::uint64_t cost = by_self ? rows[i].self : rows[i].dominated;
    const bool is_bound = !by_self && rows[i].dominated_is_bound;
    const std::string figures = pad_left((is_bound ? "≥" : "") + share(cost), 7) + " " +
                                pad_left(quantity(cost, input.metric.unit, look.unit), 8) + "  ";
    return figures + short_label(marked, rows[i].function, half - width_of(figures));
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
  const auto cost = analysis::inclusive(input.profile, input.metric);
  const auto path = analysis::hot_path(input.profile, input.metric);
  if (!path.empty()) {
    const std::string end = share(cost[path.back().index()]) + "  ";
    put("hot path", end + path_text(input, analysis::path_to(input.profile, path.back()),
                                    width - kTitle - width_of(end)));
    std::string forks;
    const auto ways = ways_from(input, path, cost);
    for (std::size_t i = 0; i < ways.size() && i < kWays; ++i) {
      forks += fmt::format("{}{} {}", i == 0 ? "" : ", ", ways[i].name, share(ways[i].cost));
    }
    if (ways.size() > kWays) forks += fmt::format(", {} more", ways.size() - kWays);
    if (!forks.empty()) put("  there", forks);
  }
  bool first = true;
  for (const RecursionLine& line : recursion_lines(input, kRecursions)) {
    put(first ? "recursion" : "",
        fmt::format("{}  {}, depth {}: {}", share(line.cost), line.kind, line.depth, line.name));
    first = false;
  }
  if (run.all_threads > 1) {
    std::uint64_t all = 0;
    for (const auto& thread : run.threads) all += thread.cost;
    std::string text = count(run.all_threads) + ": ";
    for (std::size_t i = 0; i < run.threads.size() && i < kThreads; ++i) {
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", run.threads[i].name,
                          percent(run.threads[i].cost, all));
    }
    if (run.threads.size() > kThreads) {
      text += fmt::format(", {} more", run.threads.size() - kThreads);
    }
    put("threads", text);
  }
  std::size_t remarks = 0;
  const auto put_all = [&](std::string_view title, const std::vector<std::string>& lines, Ink ink) {
    for (const std::string& line : lines) {
      if (remarks++ < kRemarks) put(title, line, ink);
    }
  };
  put_all("lost", run.losses, Ink::kWarm);
  put_all("warning", run.warnings, Ink::kWarm);
  if (remarks > kRemarks) put("", fmt::format("… {} more (--summary)", remarks - kRemarks));
  if (remarks == 0) put("lost", "nothing");
  out += paint(look, Ink::kDim, cut(kept_line(input), width)) + "\n";
  return out;
}

// Rows for programs: section, name, cost, calls.
Table overview_table(const Input& input, const RunOverview& run) {
  Table table;
  table.columns = {{"section", ""}, {"name", ""}, {"cost", ""}, {"calls", ""}, {"detail", ""}};
  const auto add = [&](const char* section, std::string name, std::uint64_t cost,
                       std::uint64_t calls, std::string detail = {}) {
    table.add({text_cell(section),
               {.text = {}, .number = {}, .raw = std::move(name)},
               count_cell(cost),
               count_cell(calls),
               text_cell(std::move(detail))});
  };
  const auto name = [&](FunctionId function) {
    return escape(display_name(input.profile, function));
  };
  const auto functions = analysis::function_table(input.profile, input.metric);
  for (const FunctionRow& row : top_functions(functions, true)) {
    add("self", name(row.function), row.self, row.calls);
  }
  for (const FunctionRow& row : top_functions(functions, false)) {
    add("dominated", name(row.function), row.dominated, row.calls,
        row.dominated_is_bound ? "at least" : "");
  }
  const auto cost = analysis::inclusive(input.profile, input.metric);
  const Metric* calls = input.profile.find_metric("calls");
  for (const NodeId node : analysis::hot_path(input.profile, input.metric)) {
    add("hot", name(input.profile.nodes().function[node.index()]), cost[node.index()],
        calls != nullptr ? calls->value(node) : 0);
  }
  for (const RecursionLine& line : recursion_lines(input, kRecursions)) {
    add("recursion", line.name, line.cost, 0, line.kind);
  }
  for (const auto& thread : run.threads) add("thread", thread.name, thread.cost, 0);
  for (const std::string& line : run.losses) add("lost", line, 0, 0);
  for (const std::string& line : run.warnings) add("warning", line, 0, 0);
  return table;
}

}  // namespace

RunOverview run_overview(const Profile& as_read, const Metric& metric, const Look& look) {
  RunOverview run;
  Look narrow = look;
  if (narrow.width == 0) narrow.width = kScreen;
  run.heading = heading(as_read, narrow);
  for (const Tree& tree : as_read.trees()) {
    RunOverview::Share share;
    share.cost = analysis::total(as_read, metric, tree);
    if (tree.thread) {
      const Thread& thread = as_read.threads()[tree.thread.index()];
      share.name = escape(as_read.text(thread.name));
      if (share.name.empty()) share.name = std::to_string(thread.tid);
    }
    run.threads.push_back(std::move(share));
  }
  std::stable_sort(run.threads.begin(), run.threads.end(),
                   [](const auto& a, const auto& b) { return a.cost > b.cost; });
  const RunFacts facts = run_facts(as_read, ProcessId());
  run.all_threads = facts.threads;
  std::uint64_t overflow = 0, threads = 0, children = 0, foreign = 0;
  for (const Process& process : as_read.processes()) {
    overflow = capped_sum(overflow, process.overflow_contexts);
    threads = capped_sum(threads, process.lost_threads);
    children = capped_sum(children, process.lost_children);
    foreign = capped_sum(foreign, process.foreign_signals);
  }
  const std::pair<std::uint64_t, const char*> losses[] = {
      {overflow, "contexts folded into [overflow]: the memory limit was reached"},
      {facts.lost_calls, "calls could not be counted in context"},
      {facts.deep_calls, "calls beyond the end of the shadow stack"},
      {threads, "threads were not profiled"},
      {children, "child processes were not profiled"},
      {facts.unmatched, "leaves without an enter"},
      {foreign, "signals of the program's own use of SIGPROF passed on"}};
  for (const auto& [number, what] : losses) {
    if (number != 0) run.losses.push_back(count(number) + " " + what);
  }
  return run;
}

std::string overview(const Input& input, const RunOverview& run) {
  if (input.look.format == Format::kText) return overview_text(input, run);
  return render_table(input, overview_table(input, run), "overview");
}

}  // namespace fbleprof::report
