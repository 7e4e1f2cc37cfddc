#include "report/views/tables.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <functional>

#include "analysis/blocks.h"
#include "analysis/compact_path.h"
#include "analysis/costs.h"
#include "analysis/functions.h"
#include "analysis/pairs.h"
#include "base/capped.h"
#include "report/text/escape.h"
#include "report/text/namesakes.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/path_text.h"
#include "report/views/top_rows.h"
#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::report {

using namespace profile;
using analysis::Block;
using analysis::FunctionRow;
using analysis::PairRow;

namespace {

constexpr std::size_t kRowsForPeople = 40;
constexpr std::size_t kPathsForPeople = 5;

std::string module_name(const Input& input, FunctionId function) {
  const ModuleId module = input.profile.functions().module[function.index()];
  if (!module) return {};
  return std::string(base_name(input.profile.text(input.profile.modules()[module.index()].path)));
}

constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;

std::vector<FunctionId> functions_of(const std::vector<PairRow>& rows) {
  std::vector<FunctionId> functions;
  for (const PairRow& row : rows) {
    functions.push_back(row.caller);
    functions.push_back(row.callee);
  }
  return functions;
}

}  // namespace

std::size_t rows_to_show(const Look& look, std::size_t size, std::vector<std::string>& notes) {
  std::size_t rows = look.top;
  if (rows == 0) rows = look.format == Format::kText && !look.all ? kRowsForPeople : size;
  if (rows >= size) return size;
  notes.push_back(fmt::format("… {} more rows (--top N, --all)", count(size - rows)));
  return rows;
}

std::string render_table(const Input& input, const Table& table, std::string_view view) {
  switch (input.look.format) {
    case Format::kCsv:
      return csv_of(table);
    case Format::kJson:
      return json_document(input, view, "rows", json_of(table)) + "\n";
    case Format::kText:
      break;
  }
  return text_of(table, input.look);
}

Cell average_cell(const Input& input, std::uint64_t cost, std::uint64_t calls, bool is_bound) {
  if (calls == 0) return text_cell("");
  return {.text = (is_bound ? "≥" : "") +
                  quantity(rounded_quotient(cost, calls), input.metric.unit, input.look.unit),
          .number = {},
          .raw = {},
          .ink = Ink::kDim};
}

std::string bound_note() {
  return "≥ at least: recursion is folded, and part of what it cost is charged to an outer call";
}

std::string kept_line(const Input& input) {
  const auto value = [&](std::uint64_t v) {
    return quantity(v, input.metric.unit, input.look.unit);
  };
  if (input.kept == input.total && !input.kept_is_bound) {
    return fmt::format("{} {} in all", input.metric.name, value(input.total));
  }
  return fmt::format("kept {}{} of {} {} ({}); percentages are of what is kept",
                     input.kept_is_bound ? "about " : "", value(input.kept), value(input.total),
                     input.metric.name, percent(input.kept, input.total));
}

std::string json_document(const Input& input, std::string_view view, std::string_view rows_name,
                          const std::string& rows) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto text = [&](const char* key, std::string_view value) {
    json.Key(key);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  json.StartObject();
  text("schema", kJsonSchema);
  text("view", view);
  text("metric", escape(input.metric.name));
  text("unit", escape(input.metric.unit));
  json.Key("total");
  json.Uint64(input.total);
  json.Key("kept");
  json.Uint64(input.kept);
  json.Key("kept_is_bound");
  json.Bool(input.kept_is_bound);
  json.Key(rows_name.data(), static_cast<rapidjson::SizeType>(rows_name.size()));
  json.RawValue(rows.data(), rows.size(), rapidjson::kArrayType);
  json.EndObject();
  return buffer.GetString();
}

namespace {

// A line about a whole run of next to no samples; "" for others.
std::string too_short(const Input& input) {
  const Metric* samples = input.profile.find_metric("samples");
  if (input.metric.unit != "ns" || samples == nullptr || input.kept != input.total) return {};
  if (input.profile.processes().empty()) return {};
  for (const Process& process : input.profile.processes()) {
    if (process.is_imported) return {};
  }
  const std::uint64_t taken = analysis::total(input.profile, *samples);
  if (taken > 1) return {};
  return fmt::format("too short to tell: {} sample{} (fble-prof --rate takes more a second)", taken,
                     taken == 1 ? "" : "s");
}

}  // namespace

std::string function_view(const Input& input, FunctionOrder order) {
  std::vector<FunctionRow> rows = analysis::function_table(input.profile, input.metric);
  std::string sort = input.look.sort;
  if (sort.empty()) sort = order == FunctionOrder::kSelf ? "self" : "dominated";
  const auto key = [&](const FunctionRow& row) -> std::uint64_t {
    if (sort == "calls") return row.calls;
    if (sort == "self") return row.self;
    if (sort == "per-call") return row.calls == 0 ? 0 : row.dominated / row.calls;
    return row.dominated;
  };
  if (sort == "name") {
    std::stable_sort(rows.begin(), rows.end(), [&](const FunctionRow& a, const FunctionRow& b) {
      return display_name(input.profile, a.function) < display_name(input.profile, b.function);
    });
  } else {
    std::stable_sort(rows.begin(), rows.end(), [&](const FunctionRow& a, const FunctionRow& b) {
      if (key(a) != key(b)) return key(a) > key(b);
      return a.dominated != b.dominated ? a.dominated > b.dominated : a.calls > b.calls;
    });
  }

  Table table;
  // CSV wants the name first, people want it last: each has columns of its own.
  table.columns = {{"name", "", kLeft},
                   {"self", "", kRight},
                   {"dominated", "", kRight},
                   {"calls", "", kRight},
                   {"dominated_is_bound", "", kRight},
                   {"module", "", kLeft},
                   {"file", "", kLeft},
                   {"line", "", kRight},
                   {"", "self", kRight},
                   {"", "%", kRight},
                   {"", "dominated", kRight},
                   {"", "%", kRight},
                   {"", "calls", kRight},
                   {"", "per call", kRight},
                   {"", "name", kLeft}};
  table.notes.push_back(kept_line(input));
  if (std::string hint = too_short(input); !hint.empty()) table.notes.push_back(std::move(hint));
  const std::size_t shown = rows_to_show(input.look, rows.size(), table.notes);
  std::vector<FunctionId> named;
  for (std::size_t i = 0; i < shown; ++i) named.push_back(rows[i].function);
  const Input marked = with_marks(input, std::move(named));
  bool any_bound = false;
  for (std::size_t i = 0; i < shown; ++i) {
    const FunctionRow& row = rows[i];
    const std::size_t f = row.function.index();
    const Functions& functions = input.profile.functions();
    any_bound |= row.dominated_is_bound;
    const Cell name = name_cell(marked, row.function);
    table.add(
        {name, cost_cell(input, row.self), cost_cell(input, row.dominated), count_cell(row.calls),
         flag_cell(row.dominated_is_bound), text_cell(module_name(input, row.function)),
         text_cell(std::string(input.profile.text(functions.file[f]))),
         count_cell(functions.line[f]), cost_cell(input, row.self),
         percent_cell(row.self, input.kept),
         cost_cell(input, row.dominated, row.dominated_is_bound),
         percent_cell(row.dominated, input.kept, row.dominated_is_bound), count_cell(row.calls),
         average_cell(input, row.dominated, row.calls, row.dominated_is_bound), name});
  }
  if (any_bound) table.notes.push_back(bound_note());
  return render_table(input, table, order == FunctionOrder::kSelf ? "self" : "dominated");
}

std::string pair_view(const Input& input) {
  std::vector<PairRow> rows = analysis::pair_table(input.profile, input.metric);
  const std::string& sort = input.look.sort;
  const bool by_caller = sort == "caller" || sort == "name", by_callee = sort == "callee";
  const bool by_calls = sort == "calls";
  std::vector<std::string> names(by_caller || by_callee ? input.profile.functions().count() : 0);
  for (std::size_t f = 0; f < names.size(); ++f) {
    names[f] = display_name(input.profile, FunctionId(f));
  }

  Table table;
  table.columns = {
      {"caller", "", kLeft},        {"callee", "", kLeft},    {"calls", "", kRight},
      {"cost", "", kRight},         {"kind", "", kLeft},      {"cost_is_bound", "", kRight},
      {"by_tail_call", "", kRight}, {"", "cost", kRight},     {"", "%", kRight},
      {"", "calls", kRight},        {"", "per call", kRight}, {"", "caller → callee", kLeft}};
  table.notes.push_back(kept_line(input));
  const std::size_t shown = rows_to_show(input.look, rows.size(), table.notes);
  rows = top_rows(rows, shown, [&](const PairRow& a, const PairRow& b) {
    if (by_caller) return names[a.caller.index()] < names[b.caller.index()];
    if (by_callee) return names[a.callee.index()] < names[b.callee.index()];
    if (by_calls && a.calls != b.calls) return a.calls > b.calls;
    return a.cost != b.cost ? a.cost > b.cost : a.calls > b.calls;
  });
  const Input marked = with_marks(input, functions_of(rows));
  bool any_bound = false;
  for (const PairRow& row : rows) {
    any_bound |= row.cost_is_bound;
    const Cell caller = name_cell(marked, row.caller), callee = name_cell(marked, row.callee);
    // Two names share the line.
    const std::size_t half = input.look.width < 70 ? 15 : (input.look.width - 48) / 2;
    const std::string both = input.look.width == 0
                                 ? caller.text + (row.is_tail ? " ⇒ " : " → ") + callee.text
                                 : short_label(marked, row.caller, half) +
                                       (row.is_tail ? " ⇒ " : " → ") +
                                       short_label(marked, row.callee, half);
    Cell pair = text_cell("");
    pair.text = both + (row.by_tail_call ? kThroughTailCall : "");
    Cell cost = cost_cell(input, row.cost, row.cost_is_bound);
    Cell share = percent_cell(row.cost, input.kept, row.cost_is_bound);
    Cell average = average_cell(input, row.cost, row.calls, row.cost_is_bound);
    if (row.is_tail) cost.text = share.text = average.text = "";
    table.add({caller, callee, count_cell(row.calls), cost_cell(input, row.cost),
               text_cell(row.is_tail ? "tail" : "call"), flag_cell(row.cost_is_bound),
               flag_cell(row.by_tail_call), cost, share, count_cell(row.calls), average, pair});
  }
  if (any_bound) table.notes.push_back(bound_note());
  return render_table(input, table, "edges");
}

namespace {

// Rows of one side of a block. `own` is the function's own cost, for the side that has [self].
void add_side(const Input& input, const std::vector<PairRow>& rows, bool going_in,
              const FunctionRow* own, Table& table, bool& any_bound) {
  const char* side = going_in ? "in" : "out";
  const auto add = [&](const std::string& other_raw, const std::string& other_text, bool is_tail,
                       std::uint64_t cost, bool is_bound, std::uint64_t calls) {
    Cell name{.text = other_text, .number = {}, .raw = other_raw};
    Cell cost_text = cost_cell(input, cost, is_bound);
    Cell share = percent_cell(cost, input.kept, is_bound);
    Cell average = average_cell(input, cost, calls, is_bound);
    if (is_tail) cost_text.text = share.text = average.text = "";
    Cell direction = text_cell(side);
    direction.text = is_tail ? "⇒" : "→";
    table.add({direction, name, count_cell(calls), cost_cell(input, cost),
               text_cell(is_tail ? "tail" : "call"), flag_cell(is_bound), cost_text, share,
               count_cell(calls), average, direction, name});
  };
  const Input marked = with_marks(input, functions_of(rows));
  if (own != nullptr) add("[self]", "[self]", false, own->self, false, 0);
  for (const PairRow& row : rows) {
    const FunctionId other = going_in ? row.caller : row.callee;
    any_bound |= row.cost_is_bound;
    const Cell name = name_cell(marked, other);
    std::string text = name.text;
    if (row.caller == row.callee) text += "  (itself)";
    if (row.by_tail_call) text += kThroughTailCall;
    add(name.raw, text, row.is_tail, row.cost, row.cost_is_bound, row.calls);
  }
}

Table side_table(std::string title) {
  Table table;
  table.title = std::move(title);
  table.columns = {{"side", "", kLeft},      {"other", "", kLeft}, {"calls", "", kRight},
                   {"cost", "", kRight},     {"kind", "", kLeft},  {"cost_is_bound", "", kRight},
                   {"", "cost", kRight},     {"", "%", kRight},    {"", "calls", kRight},
                   {"", "per call", kRight}, {"", " ", kLeft},     {"", "name", kLeft}};
  return table;
}

// The paths by which a function is reached, dearest first.
Table path_table(const Input& input, const std::vector<NodeId>& contexts,
                 const std::vector<std::uint64_t>& cost, const std::vector<std::uint8_t>& is_bound,
                 bool& any_bound) {
  Table table = side_table("hottest full paths");
  std::size_t shown = input.look.top != 0 ? input.look.top : kPathsForPeople;
  if (input.look.all) shown = contexts.size();
  const Metric* calls = input.profile.find_metric("calls");
  const std::size_t width = input.look.width > 60 ? input.look.width - 46 : input.look.width;
  for (std::size_t i = 0; i < std::min(shown, contexts.size()); ++i) {
    const std::size_t n = contexts[i].index();
    const auto path = analysis::path_to(input.profile, contexts[i]);
    const Cell name{
        .text = path_text(input, path, width), .number = {}, .raw = raw_path(input, path)};
    Cell direction = text_cell("path");
    direction.text = "";
    const std::uint64_t count = calls != nullptr ? calls->value(contexts[i]) : 0;
    any_bound |= is_bound[n] != 0;
    table.add({direction, name, count_cell(count), count_cell(cost[n]), text_cell("context"),
               flag_cell(is_bound[n] != 0), cost_cell(input, cost[n], is_bound[n] != 0),
               percent_cell(cost[n], input.kept, is_bound[n] != 0), count_cell(count),
               average_cell(input, cost[n], count, is_bound[n] != 0), direction, name});
  }
  if (shown < contexts.size()) {
    table.notes.push_back(
        fmt::format("… {} more contexts (--top N, --all)", count(contexts.size() - shown)));
  }
  return table;
}

// `input` marks names that several blocks have.
void put_block(const Input& input, const Block& block, Table paths, bool any_bound,
               std::string& out) {
  const FunctionRow& totals = block.totals;
  const auto value = [&](std::uint64_t v) {
    return quantity(v, input.metric.unit, input.look.unit);
  };
  Table in = side_table("going in"), going_out = side_table("going out");
  add_side(input, block.in, true, nullptr, in, any_bound);
  add_side(input, block.out, false, &totals, going_out, any_bound);

  if (input.look.format == Format::kCsv) {
    const std::string rows = csv_of(in) + csv_of(going_out) + csv_of(paths);
    // One header for all; the block's name in front of each row.
    std::size_t begin = 0;
    const std::string header = rows.substr(0, rows.find('\n'));
    if (out.empty()) out += "name," + header + "\n";
    const std::string name = csv_field(escape(display_name(input.profile, totals.function)));
    for (std::size_t end; (end = rows.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = rows.substr(begin, end - begin);
      if (line != header) out += name + "," + line + "\n";
    }
    return;
  }
  if (input.look.format == Format::kJson) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
    json.StartObject();
    const std::string name = escape(display_name(input.profile, totals.function));
    json.Key("name");
    json.String(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    const auto number = [&](const char* key, std::uint64_t number) {
      json.Key(key);
      json.Uint64(number);
    };
    number("self", totals.self);
    number("dominated", totals.dominated);
    json.Key("dominated_is_bound");
    json.Bool(totals.dominated_is_bound);
    number("calls", totals.calls);
    const std::string in_rows = json_of(in), out_rows = json_of(going_out);
    json.Key("in");
    json.RawValue(in_rows.data(), in_rows.size(), rapidjson::kArrayType);
    json.Key("out");
    json.RawValue(out_rows.data(), out_rows.size(), rapidjson::kArrayType);
    const std::string path_rows = json_of(paths);
    json.Key("paths");
    json.RawValue(path_rows.data(), path_rows.size(), rapidjson::kArrayType);
    json.EndObject();
    out += (out.empty() ? "" : ",") + std::string(buffer.GetString());
    return;
  }

  if (!out.empty()) out += "\n";
  out += paint(input.look, Ink::kBold, label(input, totals.function)) + "\n";
  out += fmt::format("self {} ({})   dominated {}{} ({})   calls {}", value(totals.self),
                     percent(totals.self, input.kept), totals.dominated_is_bound ? "≥" : "",
                     value(totals.dominated), percent(totals.dominated, input.kept),
                     count(totals.calls));
  if (totals.calls != 0) {
    out += fmt::format("   per call {}", value(rounded_quotient(totals.dominated, totals.calls)));
  }
  out += "\n\n" + text_of(in, input.look) + "\n" + text_of(going_out, input.look) + "\n" +
         text_of(paths, input.look);
  if (any_bound || totals.dominated_is_bound) {
    out += paint(input.look, Ink::kDim, bound_note()) + "\n";
  }
}

}  // namespace

Result<std::string> block_view(const Input& input, const std::string& pattern) {
  auto matches = transform::match(input.profile, pattern);
  if (!matches) return matches.error();
  const auto functions = analysis::function_table(input.profile, input.metric);
  const auto pairs = analysis::pair_table(input.profile, input.metric, *matches);
  const auto contexts = analysis::outermost_contexts(input.profile, input.metric, *matches);
  const auto cost = analysis::inclusive(input.profile, input.metric);
  const auto is_bound = analysis::lower_bounds(input.profile);
  std::string out;
  std::vector<std::uint8_t> seen(input.profile.functions().count());
  std::vector<FunctionId> named;  // in preorder
  for (const FunctionId function : input.profile.nodes().function) {
    if ((*matches)[function.index()] == 0 || seen[function.index()]++ != 0) continue;
    named.push_back(function);
  }
  const Input marked = with_marks(input, named);
  for (const FunctionId function : named) {
    bool any_bound = false;
    Table paths = path_table(input, contexts[function.index()], cost, is_bound, any_bound);
    put_block(marked, analysis::block(functions, pairs, function), std::move(paths), any_bound,
              out);
  }
  if (named.empty()) {
    return Error{"", std::nullopt,
                 fmt::format("\"{}\" names no function of this profile", escape(pattern)),
                 transform::likely_meant(input.profile, pattern,
                                         "see --self for the names; globs and re:... do as well")};
  }
  if (input.look.format == Format::kJson) {
    return json_document(input, "block", "blocks", "[" + out + "]") + "\n";
  }
  if (input.look.format == Format::kText) {
    out += "\n" + paint(input.look, Ink::kDim, kept_line(input)) + "\n";
  }
  return out;
}

}  // namespace fbleprof::report
