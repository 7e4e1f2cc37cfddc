#include "report/views/sequence_view.h"

#include <fmt/format.h>

#include "analysis/compact_path.h"
#include "analysis/costs.h"
#include "analysis/sequences.h"
#include "report/text/escape.h"
#include "report/text/namesakes.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/path_text.h"
#include "report/views/tables.h"
#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::report {

using namespace profile;
using analysis::PairRow;
using analysis::Sequence;

namespace {

constexpr std::size_t kMostSteps = 60;
constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;

// Whether every bracket that opens is closed: else it is no list ("operator<", "repeat<*").
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

// At commas, but not those of template and parameter lists.
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

Table rows_table() {
  Table table;
  table.columns = {{"part", "", kLeft},
                   {"name", "", kLeft},
                   {"calls", "", kRight},
                   {"cost", "", kRight},
                   {"kind", "", kLeft},
                   {"cost_is_bound", "", kRight},
                   {"calls_are_about", "", kRight},
                   {"", "cost", kRight},
                   {"", "%", kRight},
                   {"", "calls", kRight},
                   {"", "per call", kRight},
                   {"", "  ", kLeft},
                   {"", "name", kLeft}};
  return table;
}

struct Row {
  std::string raw, text, sign;
  std::uint64_t calls = 0, cost = 0;
  const char* kind = "call";
  bool is_bound = false, is_about = false;
};

void add_row(const Input& input, const char* part, const Row& row, Table& table) {
  const bool is_tail = std::string_view(row.kind) == "tail";
  Cell name{.text = row.text, .number = {}, .raw = row.raw};
  Cell cost = cost_cell(input, row.cost, row.is_bound);
  Cell share = percent_cell(row.cost, input.kept, row.is_bound);
  if (is_tail) cost.text = share.text = "";
  Cell calls = count_cell(row.calls);
  if (row.is_about && !calls.text.empty()) calls.text = "≈" + calls.text;
  const Cell average =
      is_tail ? text_cell("") : average_cell(input, row.cost, row.calls, row.is_bound);
  table.add({text_cell(part), name, count_cell(row.calls), cost_cell(input, row.cost),
             text_cell(row.kind), flag_cell(row.is_bound), flag_cell(row.is_about), cost, share,
             calls, average, text_cell(row.sign), name});
}

void add_side(const Input& input, const std::vector<PairRow>& rows, bool going_in, Table& table) {
  std::vector<FunctionId> named;
  for (const PairRow& row : rows) named.push_back(going_in ? row.caller : row.callee);
  const Input marked = with_marks(input, std::move(named));
  for (const PairRow& row : rows) {
    const Cell name = name_cell(marked, going_in ? row.caller : row.callee);
    add_row(
        input, going_in ? "in" : "out",
        {name.raw, name.text + (row.by_tail_call ? kThroughTailCall : ""), row.is_tail ? "⇒" : "→",
         row.calls, row.cost, row.is_tail ? "tail" : "call", row.cost_is_bound},
        table);
  }
}

}  // namespace

Result<std::string> sequence_view(const Input& input, const std::string& names) {
  const std::vector<std::string> patterns = split(names);
  if (patterns.size() > kMostSteps) {
    return Error{"", std::nullopt, "--path: too long", fmt::format("{} at most", kMostSteps)};
  }
  std::vector<std::vector<std::uint8_t>> matches;
  for (const std::string& pattern : patterns) {
    auto found = transform::match(input.profile, pattern);
    if (!found) return found.error();
    bool any = false;
    for (const FunctionId function : input.profile.nodes().function) {
      any |= (*found)[function.index()] != 0;
    }
    if (!any) {
      return Error{"", std::nullopt,
                   fmt::format("--path: \"{}\" names no function of this profile", escape(pattern)),
                   transform::likely_meant(input.profile, pattern,
                                           "see --self for the names; separate them by commas")};
    }
    matches.push_back(std::move(*found));
  }
  const Sequence found = analysis::sequence(input.profile, input.metric, matches);
  const auto cost = analysis::inclusive(input.profile, input.metric);
  const auto is_bound = analysis::lower_bounds(input.profile);

  Table steps = rows_table(), in = rows_table(), out = rows_table(), paths = rows_table();
  steps.title = "up to each step";
  in.title = "going in";
  out.title = "going out";
  paths.title = "hottest full paths";
  bool any_bound = false, any_about = false, any_tail = false;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const analysis::SequenceStep& step = found.steps[i];
    const std::string name = escape(patterns[i]);
    any_bound |= step.cost_is_bound;
    any_about |= step.calls_are_about;
    any_tail |= step.tail_calls != 0;
    add_row(input, "step",
            {name, std::string(i, ' ') + name, i == 0 ? "" : "→", step.calls, step.cost, "call",
             step.cost_is_bound, step.calls_are_about},
            steps);
    if (step.tail_calls != 0) {
      add_row(input, "step", {name, std::string(i, ' ') + name, "⇒", step.tail_calls, 0, "tail"},
              steps);
    }
  }
  add_side(input, found.in, true, in);
  add_row(input, "out", {"[self]", "[self]", "", 0, found.self, "self"}, out);
  add_side(input, found.out, false, out);
  for (const PairRow& row : found.in) any_bound |= row.cost_is_bound;
  for (const PairRow& row : found.out) any_bound |= row.cost_is_bound;
  std::size_t shown = input.look.top != 0 ? input.look.top : 5;
  if (input.look.all) shown = found.contexts.size();
  for (std::size_t i = 0; i < std::min(shown, found.contexts.size()); ++i) {
    const NodeId node = found.contexts[i];
    const auto path = analysis::path_to(input.profile, node);
    const std::size_t width = input.look.width > 60 ? input.look.width - 40 : input.look.width;
    const Metric* calls = input.profile.find_metric("calls");
    add_row(input, "path",
            {raw_path(input, path), path_text(input, path, width), "",
             calls != nullptr ? calls->value(node) : 0, cost[node.index()], "context",
             is_bound[node.index()] != 0},
            paths);
  }

  Table all = rows_table();
  for (Table* table : {&steps, &in, &out, &paths}) {
    if (input.look.format == Format::kText) continue;
    for (auto& row : table->rows) all.rows.push_back(row);
  }
  if (input.look.format == Format::kCsv) return csv_of(all);
  if (input.look.format == Format::kJson) {
    return json_document(input, "path", "rows", json_of(all)) + "\n";
  }
  std::string text;
  for (const Table* table : {&steps, &in, &out, &paths}) {
    if (table->rows.empty()) continue;
    text += (text.empty() ? "" : "\n") + text_of(*table, input.look);
  }
  const auto note = [&](const std::string& line) {
    text += paint(input.look, Ink::kDim, line) + "\n";
  };
  text += "\n";
  if (any_bound) note(bound_note());
  if (any_about) {
    note("≈ about: calls by way of folded recursion can have come from elsewhere");
  }
  if (any_tail) note("⇒ a tail call: what it costs is charged to the caller, beside the sequence");
  note(kept_line(input));
  return text;
}

}  // namespace fbleprof::report
