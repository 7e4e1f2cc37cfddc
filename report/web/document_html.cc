#include "report/web/document_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/text/words.h"
#include "report/web/html.h"

namespace fbleprof::web {

using namespace report;
using Kind = Column::Kind;

namespace {

constexpr std::size_t kNameColumns = 100;
constexpr std::size_t kRows = 100;
constexpr std::size_t kTextColumns = 110;

std::size_t rows_of(const Page& page) { return page.query.rows != 0 ? page.query.rows : kRows; }

const char* ink_class(Ink ink) {
  switch (ink) {
    case Ink::kHot:
      return "hot";
    case Ink::kWarm:
      return "warm";
    case Ink::kGood:
      return "good";
    case Ink::kBad:
      return "bad";
    case Ink::kDim:
      return "dim";
    default:
      return "";
  }
}

// The --sort key of a column; "" = it cannot be sorted by it.
std::string sort_key(const Column& column, std::string_view sort_keys) {
  std::string key = column.title == "per call" ? "per-call" : column.title;
  if (column.kind == Kind::kName) key = "name";
  return has_word(sort_keys, key) ? key : std::string();
}

class TableHtml {
 public:
  TableHtml(const Page& page, const Table& table, const Measure& measure, const TableLook& look)
      : page_(page), table_(table), measure_(measure), look_(look) {
    choose_columns();
    const std::size_t count = std::min(table.size(), rows_of(page));
    std::vector<profile::FunctionId> functions;
    for (std::size_t i = 0; i < count; ++i) {
      rows_.push_back(table.row(i));
      for (const std::size_t c : shown_) {
        for (const Piece& piece : rows_.back()[c].parts) {
          if (piece.function) functions.push_back(piece.function);
        }
      }
    }
    drop_unknown_calls();
    if (look.other_names != nullptr) functions.clear();
    names_.emplace(page, std::move(functions));
  }

  std::string write() const {
    std::string out;
    if (!table_.title.empty()) out += fmt::format("<h2>{}</h2>", html_text(table_.title));
    out += "<div class=scroll><table class=data><thead><tr>";
    for (const std::size_t c : shown_) out += head(table_.columns[c]);
    out += "</tr></thead><tbody>";
    for (const auto& row : rows_) out += line(row);
    out += "</tbody></table></div>";
    std::vector<std::string> notes = table_.notes;
    if (rows_.size() < table_.size()) {
      notes.push_back(
          fmt::format("… {} more rows (--top N, --all)", count(table_.size() - rows_.size())));
    }
    if (rows_.empty()) out += "<p class=empty>Nothing to show here.</p>";
    return out + notes_html(page_, notes);
  }

 private:
  void choose_columns() {
    for (const bool titled : {true, false}) {
      for (std::size_t c = 0; c < table_.columns.size(); ++c) {
        if (titled ? !table_.columns[c].title.empty() : !table_.columns[c].key.empty()) {
          shown_.push_back(c);
        }
      }
      if (!shown_.empty()) break;
    }
    std::stable_sort(shown_.begin(), shown_.end(), [&](std::size_t a, std::size_t b) {
      const Column &left = table_.columns[a], &right = table_.columns[b];
      if (left.is_text() != right.is_text()) return right.is_text();
      return left.place < right.place;
    });
  }

  // A profile without counted calls has nothing in these columns.
  void drop_unknown_calls() {
    if (rows_.empty()) return;
    std::erase_if(shown_, [&](std::size_t c) {
      const std::string& title = table_.columns[c].title;
      if (title != "calls" && title != "per call" && title != "from outside") return false;
      return std::all_of(rows_.begin(), rows_.end(), [&](const std::vector<Cell>& row) {
        const Cell& cell = row[c];
        return cell.shown ? cell.shown->empty() : cell.number.value_or(0) == 0;
      });
    });
  }

  std::string head(const Column& column) const {
    const std::string text = html_text(column.title.empty() ? column.key : column.title);
    const char* type = column.is_text() ? "text" : "num";
    if (text.find_first_not_of(' ') == std::string::npos) return "<td></td>";
    const std::string key = page_.site.is_file ? "" : sort_key(column, look_.sort_keys);
    if (key.empty()) return fmt::format("<th scope=col class={}>{}</th>", type, text);
    Query sorted = page_.query;
    sorted.sort = key;
    const bool is_by = key == look_.sorted_by;
    return fmt::format(
        "<th scope=col class={}{}><a href=\"{}\">{}</a></th>", type,
        is_by ? (key == "name" ? " aria-sort=ascending" : " aria-sort=descending") : "",
        page_.href(sorted), text);
  }

  std::string line(const std::vector<Cell>& row) const {
    std::string cells, attributes;
    for (const std::size_t c : shown_) {
      const Column& column = table_.columns[c];
      if (column.kind == Kind::kName) {
        cells += name(row, row[c], attributes);
      } else {
        cells += figure(row[c], column);
      }
    }
    return "<tr" + attributes + ">" + cells + "</tr>";
  }

  std::string name(const std::vector<Cell>& row, const Cell& cell, std::string& attributes) const {
    std::string out = "<td class=name>";
    if (cell.shown) {
      out += html_text(*cell.shown);
    } else if (cell.parts.empty() && cell.has_raw) {
      out += html_text(cell.raw);
    }
    profile::FunctionId last;
    for (const Piece& piece : cell.parts) {
      if (cell.shown) break;
      if (piece.function && look_.other_names != nullptr) {
        out += html_name(look_.other_names->fit(piece.function, kNameColumns));
        continue;
      }
      out += piece.function ? names_->link(piece.function) : html_text(piece.text);
      if (piece.function) last = piece.function;
    }
    if (last) {
      if (attributes.empty()) attributes = names_->row(last);
      out += names_->buttons(last, look_.beside_buttons ? look_.beside_buttons(row) : "");
    }
    return out + "</td>";
  }

  std::string figure(const Cell& cell, const Column& column) const {
    const bool is_text = column.is_text();
    std::string text, extra;
    std::string type = is_text ? "text" : "num";
    if (const char* ink = ink_class(cell.ink); *ink != '\0') type += fmt::format(" {}", ink);
    if (cell.shown) {
      text = html_text(*cell.shown);
    } else if (is_text) {
      text = html_text(cell.parts.empty() ? cell.raw : cell.parts[0].text);
    } else if (cell.number) {
      const std::string bound = cell.is_bound ? "≥" : "";
      const std::uint64_t value = *cell.number;
      switch (column.kind) {
        case Kind::kCost:
          text = bound + quantity(value, measure_.unit);
          break;
        case Kind::kShare: {
          const double percent = percent_of(value, measure_.kept);
          text = bound + report::percent(value, measure_.kept);
          extra = bar(percent);
          type += " share";
          break;
        }
        case Kind::kTime:
          text = quantity(value, "ns");
          break;
        case Kind::kCount:
          text = value == 0 ? "" : bound + count(value);
          break;
        case Kind::kFlag:
          text = value != 0 ? "yes" : "";
          break;
        default:
          text = bound + std::to_string(value);
      }
    }
    return fmt::format("<td class=\"{}\">{}{}</td>", type, extra, text);
  }

  const Page& page_;
  const Table& table_;
  const Measure& measure_;
  const TableLook& look_;
  std::vector<std::size_t> shown_;  // columns
  std::vector<std::vector<Cell>> rows_;
  std::optional<FunctionNames> names_;
};

std::string section_html(const Page& page, const Section& section, const Measure& measure,
                         const TableLook& look) {
  std::string out;
  if (!section.fields.empty()) {
    out += "<dl class=fields>";
    for (const Field& field : section.fields) {
      const Cell& cell = field.value;
      const std::string value = field.is_flag ? (cell.number.value_or(0) != 0 ? "yes" : "no")
                                : cell.shown  ? *cell.shown
                                : cell.number ? count(*cell.number)
                                              : (cell.parts.empty() ? "" : cell.parts.front().text);
      if (value.empty()) continue;
      out +=
          fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", html_text(field.key), html_text(value));
    }
    out += "</dl>";
  }
  for (const Table& table : section.tables) out += table_html(page, table, measure, look);
  for (const Section& part : section.parts) {
    out += "<section class=card>" + section_html(page, part, measure, look) + "</section>";
  }
  for (const auto& [name, lines] : section.lists) {
    if (!lines.empty()) out += notes_html(page, lines);
  }
  return out;
}

bool has_titles(const Document& document) {
  return std::any_of(document.tables.begin(), document.tables.end(), [](const Table& table) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [](const Column& column) { return !column.title.empty(); });
  });
}

}  // namespace

std::string table_html(const Page& page, const Table& table, const Measure& measure,
                       const TableLook& look) {
  return TableHtml(page, table, measure, look).write();
}

std::string notes_html(const Page& page, const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) {
    if (note.empty()) continue;
    const std::size_t hint = note.find(" (--");
    const bool is_about_rows = note.starts_with("… ") && hint != std::string::npos;
    if (is_about_rows && (page.site.is_file || rows_of(page) >= kMostRows)) {
      out += fmt::format("<p class=note>{}</p>", html_text(note.substr(0, hint)));
    } else if (is_about_rows) {
      Query more = page.query;
      more.rows = std::min(rows_of(page) * 5, kMostRows);
      out += fmt::format("<p class=note><a href=\"{}\">{}</a></p>", page.href(more),
                         html_text(note.substr(0, hint)));
    } else {
      out += fmt::format("<p class=note>{}</p>", html_text(note));
    }
  }
  return out;
}

std::string document_html(const Page& page, const Document& document, const TableLook& given) {
  TableLook look = given;
  if (&document.names.profile() != &page.data.profile()) look.other_names = &document.names;
  const Measure measure = document.measure.value_or(Measure());
  std::string out;
  if (document.text && !has_titles(document)) {
    // Written for people, as text only.
    Look plain;
    plain.width = kTextColumns;
    plain.top = page.query.rows;
    out = "<pre class=text>" + html_text(document.text(plain)) + "</pre>";
  } else {
    out = section_html(page, document, measure, look);
  }
  return out + notes_html(page, document.notes);
}

}  // namespace fbleprof::web
