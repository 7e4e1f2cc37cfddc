// A function's source with the cost of each line, inlined functions below their lines, and its
// instructions.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/sampled.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/annotate_text.h"
#include "report/web/bodies.h"
#include "report/web/document_html.h"
#include "report/web/html.h"
#include "report/web/view_document.h"

namespace fbleprof::web {

using report::Cell;
using report::Table;

namespace {

constexpr std::size_t kInstructions = 800;

const Cell* cell(const Table& table, const std::vector<Cell>& row, std::string_view key) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].key == key) return &row[c];
  }
  return nullptr;
}

std::string text(const Table& table, const std::vector<Cell>& row, std::string_view key) {
  const Cell* found = cell(table, row, key);
  if (found == nullptr) return {};
  return found->parts.empty() ? found->raw : found->parts[0].text;
}

std::uint64_t number(const Table& table, const std::vector<Cell>& row, std::string_view key) {
  const Cell* found = cell(table, row, key);
  return found == nullptr ? 0 : found->number.value_or(0);
}

// Keeps leading blanks: the text is code.
// `elsewhere`: what no line has, and what that is; "" = nothing.
std::string lines_html(const Page& page, const Table& table, std::uint64_t whole,
                       report::Figures elsewhere, const std::string& no_line) {
  std::string out =
      "<h2>Source</h2><div class=scroll><table class=\"data code\"><thead><tr><th scope=col "
      "class=num>%<th scope=col class=num>total<th scope=col class=num>self<th scope=col "
      "class=num>line<th scope=col "
      "class=text>source</tr></thead><tbody>";
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto row = table.row(i);
    const std::uint64_t total = number(table, row, "total"), self = number(table, row, "cost");
    const std::uint64_t depth = number(table, row, "depth");
    const std::string file = text(table, row, "file");
    const std::uint64_t line = number(table, row, "line");
    std::string code = text(table, row, "text");
    if (code.empty()) code = file.empty() ? "(no line known)" : file;
    if (depth != 0) {
      code.erase(0, std::min(code.find_first_not_of(' '), code.size()));
      code = fmt::format("{}↳ {}  {}", std::string(2 * depth, ' '), text(table, row, "name"), code);
    }
    out += fmt::format(
        "<tr{}><td class=\"num share\">{}{}<td class=num>{}<td class=num>{}<td class=num "
        "title=\"{}\">{}<td class=source>{}</tr>",
        depth != 0 ? " class=inlined" : "", bar(report::percent_of(total, whole)),
        total == 0 ? "" : report::percent(total, whole), total == 0 ? "" : page.amount(total),
        self == 0 ? "" : page.amount(self), html_text(file), line == 0 ? "" : std::to_string(line),
        html_text(code));
  }
  if (!no_line.empty()) {
    out += fmt::format(
        "<tr><td class=\"num share\">{}{}<td class=num>{}<td class=num>{}<td class=num><td "
        "class=source>{}</tr>",
        bar(report::percent_of(elsewhere.total, whole)), report::percent(elsewhere.total, whole),
        page.amount(elsewhere.total), elsewhere.self == 0 ? "" : page.amount(elsewhere.self),
        html_text(no_line));
  }
  return out + "</tbody></table></div>";
}

std::string instructions_html(const Page& page, const Table& table, std::uint64_t whole) {
  std::string out = fmt::format(
      "<details{}><summary>Instructions</summary><div class=scroll><table class=\"data code\">"
      "<thead><tr><th scope=col class=num>%<th scope=col class=num>total<th scope=col "
      "class=num>self<th scope=col "
      "class=num>address<th scope=col class=num>line<th scope=col "
      "class=text>instruction</tr></thead><tbody>",
      table.size() < 60 ? " open" : "");
  const std::size_t count = std::min(table.size(), kInstructions);
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = table.row(i);
    const std::uint64_t total = number(table, row, "total"), self = number(table, row, "cost");
    const std::uint64_t line = number(table, row, "line");
    const std::string target = text(table, row, "target");
    out += fmt::format(
        "<tr><td class=\"num share\">{}{}<td class=num>{}<td class=num>{}<td class=num>{:x}"
        "<td class=num>{}<td class=source>{}{}</tr>",
        total == 0 ? "" : bar(report::percent_of(total, whole)),
        total == 0 ? "" : report::percent(total, whole), total == 0 ? "" : page.amount(total),
        self == 0 ? "" : page.amount(self), number(table, row, "address"),
        line == 0 ? "" : std::to_string(line), html_text(text(table, row, "text")),
        target.empty() ? "" : " <i>&lt;" + html_text(target) + "&gt;</i>");
  }
  out += "</tbody></table></div>";
  if (count < table.size()) {
    out += fmt::format("<p class=note>… {} more instructions</p>", table.size() - count);
  }
  return out + "</details>";
}

}  // namespace

std::string source_body(const Page& page) {
  const auto made =
      view_document(page, *report::find_view("annotate"), page.query.value, report::Format::kText);
  if (!made) return failure_html(made.error());
  std::string out;
  for (const report::Section& part : made->document.parts) {
    Table fields;  // by key, as the tables below are
    std::vector<Cell> row;
    for (const report::Field& field : part.fields) {
      fields.columns.push_back({field.key, ""});
      row.push_back(field.value);
    }
    const std::uint64_t in_code = number(fields, row, "in_code");
    const std::uint64_t total = number(fields, row, "total");
    const std::uint64_t self = number(fields, row, "self");
    const report::Figures elsewhere{number(fields, row, "elsewhere"),
                                    self + number(fields, row, "of_callers") - in_code};
    const std::string no_line =
        report::words_elsewhere(elsewhere.total, number(fields, row, "without_address"));
    out += fmt::format("<section><h1 class=fn-title>{}</h1><p class=where>{}{}{}</p>",
                       html_name(text(fields, row, "name")), html_text(text(fields, row, "module")),
                       text(fields, row, "file").empty() ? "" : " · ",
                       html_text(text(fields, row, "file")));
    out += fmt::format("<p class=note>total {} ({}); self {} ({}), {} of it in its own code</p>",
                       page.amount(total), page.share(total), page.amount(self), page.share(self),
                       page.amount(in_code));
    for (const auto& [name, lines] : part.lists) {
      if (name == "notes") out += notes_html(page, lines);
      if (name != "inlined_into" || lines.empty()) continue;
      out += fmt::format("<p class=note>inlined into {}</p>",
                         html_text(fmt::format("{}", fmt::join(lines, ", "))));
    }
    for (const Table& table : part.tables) {
      if (table.size() == 0) continue;
      if (table.key == "lines") {
        out += lines_html(page, table, total, elsewhere, no_line);
      } else if (table.key == "instructions") {
        out += instructions_html(page, table, total);
      } else {
        Table outside = table;
        outside.title = "In code without hooks that it called";
        out += table_html(page, outside, made->document.measure.value_or(report::Measure()));
      }
    }
    out += "</section>";
  }
  if (out.empty()) out = "<p class=empty>No function of that name was sampled.</p>";
  if (!analysis::has_sampled_addresses(page.data.profile())) {
    out +=
        "<p class=note>Costs by line need sampled addresses: record with <code>fble-prof "
        "--leaves</code>.</p>";
  }
  return out;
}

}  // namespace fbleprof::web
