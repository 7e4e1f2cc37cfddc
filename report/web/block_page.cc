// A function with its callers and callees, and sequences of calls, with what removing a call would
// save.
#include <fmt/format.h>

#include <algorithm>

#include "base/capped.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/web/bodies.h"
#include "report/web/document_html.h"
#include "report/web/html.h"
#include "report/web/view_document.h"

namespace fbleprof::web {

using namespace profile;
using report::Cell;
using report::Table;

namespace {

FunctionId function_in(const std::vector<Cell>& row, std::size_t name_column) {
  for (const report::Piece& piece : row[name_column].parts) {
    if (piece.function) return piece.function;
  }
  return {};
}

std::size_t name_column(const Table& table) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].kind == report::Column::Kind::kName) return c;
  }
  return 0;
}

// A link that continues the sequence there, in the same context.
TableLook walk_look(const Page& page, const Table& table, bool going_in, const std::string& here) {
  TableLook look;
  const std::size_t column = name_column(table);
  look.beside_buttons = [&page, column, going_in, here](const std::vector<Cell>& row) {
    const FunctionId other = function_in(row, column);
    if (!other || page.site.is_file) return std::string();
    const std::string id = page.data.source().id(other);
    const std::string path = going_in ? id + "," + here : here + "," + id;
    return fmt::format(
        "<a class=follow href=\"{}\" title=\"what this call costs and what comes next, in this "
        "context only\">follow</a>",
        page.href("path", path));
  };
  return look;
}

std::string fact(std::string_view name, const std::string& value, const std::string& more = {}) {
  return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>", name, value,
                     more.empty() ? "" : " <small>" + more + "</small>");
}

std::string totals_html(const Page& page, const analysis::FunctionRow& row) {
  std::string out = "<dl class=totals>";
  out += fact("self", page.amount(row.self), page.share(row.self));
  out += fact("dominated", (row.dominated_is_bound ? "≥" : "") + page.amount(row.dominated),
              page.share(row.dominated));
  if (row.calls != 0) {
    out += fact("calls", page.calls(row.calls, row.is_sampled, row.function));
  }
  if (row.calls != 0 && page.data.costs().is_sum() &&
      !report::counts_some_calls(page.data.profile(), row.function)) {
    out += fact("per call", page.amount(rounded_quotient(row.dominated, row.calls)));
  }
  return out + "</dl>";
}

std::string actions_html(const Page& page, FunctionId function) {
  if (page.site.is_file) return {};
  const std::string id = page.data.source().id(function);
  Query flame = page.query.to_page("flame");
  flame.pivot = id;
  std::string out = "<p class=actions>";
  out += fmt::format("<a class=button href=\"{}\">callers and callees as a flame graph</a>",
                     page.href(flame));
  const Functions& functions = page.data.profile().functions();
  if (functions.kind[function.index()] != FunctionKind::kBlock) {
    out += fmt::format("<a class=button href=\"{}\">source</a>", page.href("source", id));
  }
  constexpr std::pair<Listed::List, std::string_view> kLists[] = {
      {Listed::List::kSelect, "only paths through it"},
      {Listed::List::kExclude, "without it"},
      {Listed::List::kFold, "fold into its callers"}};
  for (const auto& [list, text] : kLists) {
    // Excluding it leaves this page empty: the overview shows the rest.
    const Query to = (list == Listed::List::kSelect ? page.query : page.query.to_page("overview"))
                         .with({list, id});
    out += fmt::format("<a class=\"button {}\" href=\"{}\">{}</a>", parameter_of(list),
                       page.href(to), text);
  }
  return out + "</p>";
}

// Steps that a link gives by id get their names.
Table with_names(const Page& page, const Table& table) {
  const std::size_t column = name_column(table);
  Table out;
  out.key = table.key;
  out.title = table.title;
  out.columns = table.columns;
  out.notes = table.notes;
  for (std::vector<Cell> row : table.rows()) {
    for (report::Piece& piece : row[column].parts) {
      const std::size_t indent = std::min(piece.text.find_first_not_of(' '), piece.text.size());
      if (const FunctionId f = page.data.source().function(piece.text.substr(indent))) {
        row[column].parts = {{piece.text.substr(0, indent), {}}, {{}, f}};
        break;
      }
    }
    out.add(std::move(row));
  }
  return out;
}

}  // namespace

std::string block_body(const Page& whole) {
  // Three tables per function; a name can match several.
  constexpr std::size_t kRows = 32;
  Query query = whole.query;
  if (query.rows == 0) query.rows = kRows;
  const Page page{query, whole.data, whole.site};
  const auto made =
      view_document(page, *report::find_view("block"), page.query.value, report::Format::kText);
  if (!made) return failure_html(made.error());
  const report::Document& document = made->document;
  const report::Measure measure = document.measure.value_or(report::Measure());
  const Profile& profile = page.data.profile();
  std::string out;
  constexpr std::size_t kMost = 20;
  for (std::size_t p = 0; p < document.parts.size() && p < kMost; ++p) {
    const report::Section& part = document.parts[p];
    // The part's name is the first field; the flat table knows its owner.
    FunctionId function = page.data.source().function(page.query.value);
    if (!function) {
      for (const auto& row : document.flat->rows()) {
        const FunctionId one = row[0].parts.empty() ? FunctionId() : row[0].parts[0].function;
        if (one &&
            report::escape(display_name(profile, one)) == part.fields[0].value.parts[0].text) {
          function = one;
        }
      }
    }
    if (!function) continue;
    const auto& rows = page.data.costs().tables().functions();
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& one) { return one.function == function; });
    const Functions& functions = profile.functions();
    const std::size_t f = function.index();
    out += fmt::format("<h1 class=fn-title data-whole>{}</h1>",
                       html_name(report::whole_name(profile, function)));
    const std::string module = report::escape(report::module_of(profile, function));
    const std::string file = report::escape(profile.text(functions.file[f]));
    out += fmt::format(
        "<p class=where>{}{}{}</p>", html_text(module), file.empty() || module.empty() ? "" : " · ",
        file.empty() ? "" : html_text(fmt::format("{}:{}", file, functions.line[f])));
    if (row != rows.end()) out += totals_html(page, *row);
    out += actions_html(page, function);
    const std::string id = page.data.source().id(function);
    out += "<div class=sides>";
    constexpr std::string_view kTitles[] = {
        "Going in <small>who calls it, and what you get back without that call</small>",
        "Going out <small>itself and what it calls</small>", "Hottest full paths"};
    for (std::size_t t = 0; t < part.tables.size(); ++t) {
      Table table = part.tables[t];
      table.title.clear();
      const bool is_paths = t == 2;
      out += fmt::format("<section class=\"card{}\"><h2>{}</h2>", is_paths ? " wide" : "",
                         kTitles[std::min<std::size_t>(t, 2)]);
      out += table_html(page, table, measure,
                        is_paths ? TableLook() : walk_look(page, table, t == 0, id));
      out += "</section>";
    }
    out += "</div>";
  }
  if (document.parts.size() > kMost) {
    out += fmt::format("<p class=note>… {} more functions of that name</p>",
                       document.parts.size() - kMost);
  }
  return out + notes_html(page, document.notes);
}

std::string path_body(const Page& page) {
  const auto made =
      view_document(page, *report::find_view("path"), page.query.value, report::Format::kText);
  if (!made) return failure_html(made.error());
  const report::Document& document = made->document;
  const report::Measure measure = document.measure.value_or(report::Measure());
  std::string out = "<div class=sides>";
  for (std::size_t t = 0; t < document.tables.size(); ++t) {
    const Table table = with_names(page, document.tables[t]);
    const bool is_in = table.title == "going in", is_out = table.title == "going out";
    out += fmt::format("<section class=\"card{}\">", is_in || is_out ? "" : " wide");
    out +=
        table_html(page, table, measure,
                   is_in || is_out ? walk_look(page, table, is_in, page.query.value) : TableLook());
    out += "</section>";
  }
  return out + "</div>" + notes_html(page, document.notes);
}

}  // namespace fbleprof::web
