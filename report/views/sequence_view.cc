// --path a,b,c: a sequence of calls with its callers, callees and paths. "≥" marks a lower bound,
// "≈" an approximate count.
#include "analysis/sampled.h"
#include "analysis/sequences.h"

#include <fmt/format.h>

#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/view.h"
#include "report/views/ways.h"

namespace fbleprof::report {

using namespace profile;
using analysis::PairRow;
using analysis::Sequence;
using Kind = Column::Kind;

namespace {

constexpr std::size_t kMostSteps = 60;

// Whether every opening bracket is closed: else the text is not a list ("operator<", "repeat<*").
bool balances(const std::string& names) {
  std::string open;
  char quote = 0, before = 0;
  for (const char c : names) {
    if (quote != 0 || c == '"' || c == '\'') {
      quote = quote == 0 ? c : c == quote ? '\0' : quote;
    } else if (c == '<' || c == '(') {
      open += c;
    } else if ((c == '>' && before != '-') || c == ')') {
      if (!open.empty() && open.back() == (c == '>' ? '<' : '(')) open.pop_back();
    }
    before = c;
  }
  return open.empty();
}

// Splits at commas outside template and parameter lists.
std::vector<std::string> split(const std::string& names) {
  const bool has_lists = balances(names);
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0, before = 0;
  for (const char c : names) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        parts.back() += c;
      }
      continue;
    }
    if (c == '"' || c == '\'') {
      quote = c;
      continue;
    }
    if (c == '<' || c == '(') ++depth;
    if (((c == '>' && before != '-') || c == ')') && depth > 0) --depth;
    before = c;
    if (c == ',' && (depth == 0 || !has_lists)) {
      parts.emplace_back();
    } else if (c != ' ' || !parts.back().empty()) {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) {
    while (part.ends_with(' ')) part.pop_back();
  }
  return parts;
}

Table rows_table(std::string title) {
  Table table;
  table.title = std::move(title);
  table.columns = {{"part", "", Kind::kText},
                   {"name", "name", Kind::kName, 1},
                   {"calls", "calls", Kind::kCount, 2},
                   {"cost", "cost", Kind::kCost},
                   {"", "%", Kind::kShare, 1},
                   {"", "per call", Kind::kCost, 3},
                   {"kind", "", Kind::kText},
                   {"cost_is_bound", "", Kind::kFlag},
                   {"calls_are_about", "", Kind::kFlag},
                   {"sampled", "", Kind::kFlag},
                   {"", "  ", Kind::kText}};
  return table;
}

struct Row {
  Cell name;
  std::string sign;
  std::uint64_t calls = 0, cost = 0;
  const char* kind = "call";
  bool is_bound = false, is_about = false, is_sampled = false;
  FunctionId callee;  // if it is one
};

void add(const char* part, const Row& row, CallCells& call_cells, Table& table) {
  Cell cost = number_cell(row.cost, row.is_bound), share = cost;
  Cell average = call_cells.average(row.cost, row.calls, row.is_bound, row.callee);
  if (std::string_view(row.kind) == "tail") {
    cost = hidden(cost);
    share = hidden(share);
    average = hidden(average);
  }
  Cell calls = call_cells(row.calls, row.is_sampled, row.callee);
  if (row.is_about && row.calls != 0) calls = shown_as(calls, "≈" + count(row.calls));
  table.add({text_cell(part), row.name, calls, cost, share, average, text_cell(row.kind),
             flag_cell(row.is_bound), flag_cell(row.is_about), flag_cell(row.is_sampled),
             text_cell(row.sign)});
}

void add_side(const std::vector<PairRow>& rows, bool going_in, CallCells& calls, Table& table) {
  for (const PairRow& row : rows) {
    add(going_in ? "in" : "out",
        {name_cell(going_in ? row.caller : row.callee, row.by_tail_call ? kThroughTailCall : ""),
         row.is_tail ? "⇒" : "→", row.calls, row.cost, row.is_tail ? "tail" : "call",
         row.cost_is_bound, row.calls_are_about, row.is_sampled, row.callee},
        calls, table);
  }
}

Result<std::vector<std::vector<std::uint8_t>>> match_all(const Request& request,
                                                         const std::vector<std::string>& patterns) {
  std::vector<std::vector<std::uint8_t>> matches;
  for (const std::string& pattern : patterns) {
    auto found = named_functions(request, pattern,
                                 "--path: ", "see --self for the names; separate them by commas");
    if (!found) return found.error();
    matches.push_back(std::move(*found));
  }
  return matches;
}

Result<Document> sequence_view(const Request& request) {
  const std::vector<std::string> patterns = split(request.value);
  if (patterns.size() > kMostSteps) {
    return Error{"", std::nullopt, "--path: too long", fmt::format("{} at most", kMostSteps)};
  }
  const auto matches = match_all(request, patterns);
  if (!matches) return matches.error();
  const Sequence found = analysis::sequence(request.costs, *matches);

  Document document = request.document("path");
  Table steps = rows_table("up to each step"), in = rows_table("going in"),
        out = rows_table("going out"), paths = rows_table("hottest full paths");
  CallCells calls(request);
  bool any_bound = false, any_about = false, any_tail = false;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const analysis::SequenceStep& step = found.steps[i];
    const std::string name = escape(patterns[i]);
    const Cell cell = name_cell({{std::string(i, ' ') + name, {}}}, name);
    any_bound |= step.cost_is_bound;
    any_about |= step.calls_are_about;
    any_tail |= step.tail_calls != 0;
    add("step",
        {cell, i == 0 ? "" : "→", step.calls, step.cost, "call", step.cost_is_bound,
         step.calls_are_about, step.is_sampled},
        calls, steps);
    if (step.tail_calls != 0) add("step", {cell, "⇒", step.tail_calls, 0, "tail"}, calls, steps);
  }
  add_side(found.in, true, calls, in);
  add("out", {text_cell("[self]"), "", 0, found.self, "self"}, calls, out);
  add_side(found.out, false, calls, out);
  std::vector<FunctionId> named;
  for (const PairRow& row : found.in) {
    any_bound |= row.cost_is_bound;
    any_about |= row.calls_are_about;
    named.push_back(row.caller);
  }
  for (const PairRow& row : found.out) {
    any_bound |= row.cost_is_bound;
    named.push_back(row.callee);
  }
  if (request.look.format == Format::kText) document.names = document.names.marked(named);
  const std::vector<Cell> cells = path_cells(request, document.names, found.contexts);
  const auto sampled = analysis::sampled_contexts(request.profile());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const NodeId node = found.contexts[i];
    add("path",
        {cells[i], "", request.costs.calls(node), request.costs.inclusive()[node.index()],
         "context", request.costs.is_bound()[node.index()] != 0, false, sampled[node.index()] != 0,
         request.profile().nodes().function[node.index()]},
        calls, paths);
  }

  if (request.look.format != Format::kText) {
    Table all = rows_table("");
    all.key = "rows";
    for (const Table* table : {&steps, &in, &out, &paths}) {
      for (const auto& row : table->rows()) all.add(row);
    }
    document.tables = {std::move(all)};
    return document;
  }
  for (Table* table : {&steps, &in, &out, &paths}) {
    if (table->size() != 0) document.tables.push_back(std::move(*table));
  }
  document.tables.back().notes.emplace_back();
  if (any_bound) document.notes.push_back(kBoundNote);
  if (any_about) {
    document.notes.push_back(
        "≈ about: calls through folded recursion may have come from elsewhere");
  }
  calls.add_notes(document.notes);
  if (any_tail) {
    document.notes.push_back(
        "⇒ a tail call: its cost is charged to the caller, outside the sequence");
  }
  document.notes.push_back(kept_line(request));
  return document;
}

const Register kPath({
    .name = "path",
    .value = "A,B,C",
    .words = "re: module: file:",
    .example = "*",
    .help = "a sequence of calls: the cost of each step, its callers and callees",
    .manual =
        "A sequence of calls: A calls B calls C, each a NAME.\n"
        "The cost and calls up to each step, the callers and callees of the sequence, and the\n"
        "most expensive full paths that contain it.\n"
        "Costs marked\n"
        "\\(lq\\[u2265]\\(rq\n"
        "are lower bounds; calls marked\n"
        "\\(lq\\[u2248]\\(rq\n"
        "may include some that came another way, through folded recursion (in sequences of four\n"
        "or more, and by the callers of shorter ones).",
    .topic = View::Topic::kCalls,
    .limits = "top",
    .show = sequence_view,
});

}  // namespace
}  // namespace fbleprof::report
