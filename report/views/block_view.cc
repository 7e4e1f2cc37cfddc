// --block: a function with its callers, callees and paths.
#include "analysis/in_and_out.h"
#include "analysis/sampled.h"
#include "analysis/tables.h"

#include <fmt/format.h>

#include <memory>
#include "base/capped.h"

#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/view.h"
#include "report/views/ways.h"

namespace fbleprof::report {

using namespace profile;
using analysis::FunctionRow;
using analysis::InAndOut;
using analysis::PairRow;
using Kind = Column::Kind;

namespace {

Table side_table(std::string key, std::string title) {
  Table table;
  table.key = std::move(key);
  table.title = std::move(title);
  table.columns = {{"side", " ", Kind::kText},          {"other", "name", Kind::kName},
                   {"calls", "calls", Kind::kCount, 2}, {"cost", "cost", Kind::kCost},
                   {"", "%", Kind::kShare, 1},          {"", "per call", Kind::kCost, 3},
                   {"kind", "", Kind::kText},           {"cost_is_bound", "", Kind::kFlag},
                   {"sampled", "", Kind::kFlag}};
  return table;
}

struct Row {
  Cell side, name;
  std::uint64_t calls = 0, cost = 0;
  bool is_bound = false, is_sampled = false;
  const char* kind = "call";
  FunctionId callee;  // if it is one
};

// The notes below the tables of one function.
struct Marks {
  bool any_bound = false;
  CallCells calls;
};

void add(const Row& row, Table& table, Marks& marks) {
  Cell cost = number_cell(row.cost, row.is_bound), share = cost;
  Cell average = marks.calls.average(row.cost, row.calls, row.is_bound, row.callee);
  if (std::string_view(row.kind) == "tail") {
    cost = hidden(cost);
    share = hidden(share);
    average = hidden(average);
  }
  marks.any_bound |= row.is_bound;
  table.add({row.side, row.name, marks.calls(row.calls, row.is_sampled, row.callee), cost, share,
             average, text_cell(row.kind), flag_cell(row.is_bound), flag_cell(row.is_sampled)});
}

Table side(const std::vector<PairRow>& rows, bool going_in, const FunctionRow& own, Marks& marks) {
  Table table = going_in ? side_table("in", "going in") : side_table("out", "going out");
  const Cell name = text_cell(going_in ? "in" : "out");
  if (!going_in) {
    add({.side = shown_as(name, "→"), .name = text_cell("[self]"), .cost = own.self}, table, marks);
  }
  for (const PairRow& row : rows) {
    std::string behind = row.caller == row.callee ? "  (itself)" : "";
    if (row.by_tail_call) behind += kThroughTailCall;
    add({.side = shown_as(name, row.is_tail ? "⇒" : "→"),
         .name = name_cell(going_in ? row.caller : row.callee, behind),
         .calls = row.calls,
         .cost = row.cost,
         .is_bound = row.cost_is_bound,
         .is_sampled = row.is_sampled,
         .kind = row.is_tail ? "tail" : "call",
         .callee = row.callee},
        table, marks);
  }
  return table;
}

// What is the same for all functions: a pattern may name all of a program's.
struct Whole {
  explicit Whole(const Request& request)
      : sampled(analysis::sampled_contexts(request.profile())), calls(request) {}
  std::vector<std::uint8_t> sampled;  // by context
  CallCells calls;                    // without marks
};

// The paths that lead to a function, the most expensive first.
Table path_table(const Request& request, const Whole& whole, const Names& names,
                 const std::vector<NodeId>& contexts, Marks& marks) {
  Table table = side_table("paths", "hottest full paths");
  const std::vector<Cell> paths = path_cells(request, names, contexts);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::size_t n = contexts[i].index();
    const bool is_bound = request.costs.is_bound()[n] != 0;
    add({.side = hidden(text_cell("path")),
         .name = paths[i],
         .calls = request.costs.calls(contexts[i]),
         .cost = request.costs.inclusive()[n],
         .is_bound = is_bound,
         .is_sampled = whole.sampled[n] != 0,
         .kind = "context",
         .callee = request.profile().nodes().function[n]},
        table, marks);
  }
  if (paths.size() < contexts.size()) {
    table.notes.push_back(fmt::format("… {} more {} (--top N, --all)",
                                      count(contexts.size() - paths.size()),
                                      plural(contexts.size() - paths.size(), "context")));
  }
  return table;
}

// One function of the document, and its text.
struct Shown {
  Section section;
  FunctionRow totals;
  Marks marks;
  Names names;  // of its callers and callees
};

std::string text_of(const Request& request, const Names& marked, const Shown& one,
                    const Look& look) {
  const FunctionRow& totals = one.totals;
  const std::uint64_t kept = request.costs.total();
  const bool counts_some = counts_some_calls(request.profile(), totals.function);
  std::string out = paint(look, Ink::kBold, marked.fit(totals.function, 0)) + "\n";
  out += fmt::format(
      "self {} ({})   dominated {}{} ({})   calls {}", request.amount(totals.self),
      percent(totals.self, kept), totals.dominated_is_bound ? "≥" : "",
      request.amount(totals.dominated), percent(totals.dominated, kept),
      totals.is_sampled ? "not counted" : (counts_some ? "≥" : "") + count(totals.calls));
  const std::uint64_t average =
      shown_average(request, totals.dominated, totals.calls, totals.function);
  if (average != 0) out += fmt::format("   per call {}", request.amount(average));
  out += "\n\n";
  for (std::size_t t = 0; t < one.section.tables.size(); ++t) {
    out += (t == 0 ? "" : "\n") +
           report::text_of(one.section.tables[t], look, one.names, request.measure());
  }
  if (one.marks.any_bound || totals.dominated_is_bound) {
    out += paint(look, Ink::kDim, kBoundNote) + "\n";
  }
  std::vector<std::string> notes;
  one.marks.calls.add_notes(notes);
  for (const std::string& note : notes) out += paint(look, Ink::kDim, note) + "\n";
  return out;
}

// For CSV: the name of the function before each row.
Table flat(const std::vector<Shown>& all) {
  Table table = side_table("rows", "");
  table.columns.insert(table.columns.begin(), {"name", "", Kind::kName});
  for (const Shown& one : all) {
    for (const Table& part : one.section.tables) {
      for (std::vector<Cell> row : part.rows()) {
        row.insert(row.begin(), name_cell(one.totals.function));
        table.add(std::move(row));
      }
    }
  }
  return table;
}

Shown one_function(const Request& request, const Whole& whole, const InAndOut& block,
                   const std::vector<NodeId>& contexts) {
  std::vector<FunctionId> others;
  for (const auto* rows : {&block.in, &block.out}) {
    for (const PairRow& row : *rows) {
      others.push_back(row.caller);
      others.push_back(row.callee);
    }
  }
  Names names = request.names();
  if (request.look.format == Format::kText) names = names.marked(others);
  Shown one{{}, block.totals, {false, whole.calls}, names};
  one.section.fields = {{"name", text_cell(display_name(request.profile(), block.totals.function))},
                        {"self", number_cell(block.totals.self)},
                        {"dominated", number_cell(block.totals.dominated)},
                        {"dominated_is_bound", flag_cell(block.totals.dominated_is_bound), true},
                        {"calls", number_cell(block.totals.calls)},
                        {"sampled", flag_cell(block.totals.is_sampled), true}};
  one.section.tables = {side(block.in, true, block.totals, one.marks),
                        side(block.out, false, block.totals, one.marks),
                        path_table(request, whole, names, contexts, one.marks)};
  return one;
}

Result<Document> block_view(const Request& request) {
  auto matches = named_functions(request, request.value);
  if (!matches) return matches.error();
  const auto& functions = request.costs.tables().functions();
  const auto pairs = analysis::pair_table(request.costs, *matches);
  const auto contexts = analysis::outermost_contexts(request.costs, *matches);
  const analysis::AllInAndOut in_and_out(functions, pairs, request.profile().functions().count());
  const Whole whole(request);
  std::vector<std::uint8_t> seen(request.profile().functions().count());
  auto all = std::make_shared<std::vector<Shown>>();
  std::vector<FunctionId> named;  // in preorder
  for (const FunctionId function : request.profile().nodes().function) {
    if ((*matches)[function.index()] == 0 || seen[function.index()] != 0) continue;
    seen[function.index()] = 1;
    named.push_back(function);
    all->push_back(
        one_function(request, whole, in_and_out.of(function), contexts[function.index()]));
  }
  Document document = request.document("block");
  document.parts_key = "blocks";
  for (const Shown& one : *all) document.parts.push_back(one.section);
  document.flat = flat(*all);
  const Names marked = document.names.marked(named);
  document.text = [request, all, marked](const Look& look) {
    std::string out;
    for (const Shown& one : *all) {
      out += (out.empty() ? "" : "\n") + text_of(request, marked, one, look);
    }
    return out + "\n" + paint(look, Ink::kDim, kept_line(request)) + "\n";
  };
  return document;
}

const Register kBlock({
    .name = "block",
    .value = "NAME",
    .words = "re: module: file:",
    .example = "*",
    .help = "one function: who calls it, what it calls, and what each call costs",
    .manual = "One function with its callers and callees.\n"
              "Going in: for each caller Y the cost of all paths that contain Y\\(->NAME, and its "
              "calls.\n"
              "Going out: the same for each callee;\n"
              ".B [self]\n"
              "is the function's own cost.\n"
              "Then the most expensive full paths to NAME.",
    .topic = View::Topic::kCalls,
    .limits = "top",
    .show = block_view,
});

}  // namespace
}  // namespace fbleprof::report
