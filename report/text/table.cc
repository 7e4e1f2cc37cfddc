#include "report/text/table.h"

#include <algorithm>
#include <numeric>

#include "base/capped.h"
#include "report/text/escape.h"
#include "report/text/json_writer.h"
#include "report/text/quantity.h"

namespace fbleprof::report {

using Kind = Column::Kind;

Cell name_cell(profile::FunctionId function, std::string behind) {
  Cell cell;
  cell.parts.push_back({{}, function});
  if (behind.empty()) return cell;
  cell.parts.push_back({std::move(behind), {}});
  return cell;
}

Cell name_cell(Pieces parts, std::string raw) {
  return {.number = {}, .parts = std::move(parts), .raw = std::move(raw), .has_raw = true};
}

Cell raw_cell(std::string raw) { return name_cell(Pieces(), std::move(raw)); }

Cell text_cell(std::string_view text) { return {.number = {}, .parts = {{escape(text), {}}}}; }

Cell number_cell(std::uint64_t value, bool is_bound) {
  return {.number = value, .is_bound = is_bound};
}

Cell flag_cell(bool value) { return {.number = value ? 1 : 0}; }

Cell average_cell(std::uint64_t cost, std::uint64_t calls, bool is_bound) {
  Cell cell{.number = {}, .is_bound = is_bound, .ink = Ink::kDim};
  if (calls != 0) cell.number = rounded_quotient(cost, calls);
  return cell;
}

Cell hidden(Cell cell) { return shown_as(std::move(cell), ""); }

Cell shown_as(Cell cell, std::string text) {
  cell.shown = std::move(text);
  return cell;
}

namespace {

// What programs read from a cell that is not a number. The first function of a line is its name.
std::string raw_text(const Cell& cell, const Names& names) {
  if (cell.has_raw) return cell.raw;
  if (cell.parts.empty()) return {};
  const Piece& part = cell.parts.front();
  return part.function ? names.whole(part.function) : part.text;
}

std::string number_text(const Cell& cell, Kind kind, const Look& look, const Measure& measure) {
  if (!cell.number) return {};
  const std::uint64_t value = *cell.number;
  const std::string bound = cell.is_bound ? "≥" : "";
  switch (kind) {
    case Kind::kCost:
      return bound + quantity(value, measure.unit, look.unit);
    case Kind::kShare:
      return bound + percent(value, measure.kept);
    case Kind::kTime:
      return quantity(value, "ns", look.unit);
    case Kind::kCount:
      return value == 0 ? "" : bound + count(value);
    case Kind::kFlag:
      return value != 0 ? "yes" : "";
    case Kind::kText:
    case Kind::kName:
    case Kind::kNumber:
      break;
  }
  return bound + std::to_string(value);
}

Ink ink_of(const Cell& cell, Kind kind, const Measure& measure) {
  if (kind != Kind::kShare || !cell.number || cell.ink != Ink::kPlain) return cell.ink;
  return heat(percent_of(*cell.number, measure.kept));
}

constexpr std::size_t kLeastColumns = 12;  // of names, however narrow the screen

// A text table: its columns in people's order, and their texts.
class TextTable {
 public:
  TextTable(const Table& table, const Look& look, const Names& names, const Measure& measure)
      : table_(table), look_(look), measure_(measure) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (!table.columns[c].title.empty()) shown_.push_back(c);
    }
    std::stable_sort(shown_.begin(), shown_.end(), [&](std::size_t a, std::size_t b) {
      const Column &left = table.columns[a], &right = table.columns[b];
      if (left.is_text() != right.is_text()) return right.is_text();
      return left.place < right.place;
    });
    for (std::size_t i = 0; i < table.size(); ++i) rows_.push_back(table.row(i));
    measure_columns();
    fit_names(names);
  }

  std::string write() const {
    std::string out;
    if (!rows_.empty()) {
      if (!table_.title.empty()) out += paint(look_, Ink::kBold, table_.title) + "\n";
      put_line(
          out, [&](std::size_t i) { return table_.columns[shown_[i]].title; },
          [](std::size_t) { return Ink::kDim; });
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      put_line(
          out, [&](std::size_t i) { return texts_[i][r]; },
          [&](std::size_t i) {
            return ink_of(rows_[r][shown_[i]], table_.columns[shown_[i]].kind, measure_);
          });
    }
    for (const std::string& note : table_.notes) out += paint(look_, Ink::kDim, note) + "\n";
    return out;
  }

 private:
  void measure_columns() {
    texts_.resize(shown_.size());
    widths_.resize(shown_.size());
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const Column& column = table_.columns[shown_[i]];
      widths_[i] = width_of(column.title);
      if (column.kind == Kind::kName) continue;
      for (const auto& row : rows_) {
        const Cell& cell = row[shown_[i]];
        texts_[i].push_back(cell.shown         ? *cell.shown
                            : column.is_text() ? (cell.parts.empty() ? "" : cell.parts[0].text)
                                               : number_text(cell, column.kind, look_, measure_));
        widths_[i] = std::max(widths_[i], width_of(texts_[i].back()));
      }
    }
  }

  // Names get the width that other columns leave; so does the last column, if it is other text.
  void fit_names(const Names& names) {
    std::vector<std::size_t> flexible;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const bool is_last_text = table_.columns[shown_[i]].is_text() && i + 1 == shown_.size();
      if (is_name(i) || is_last_text) flexible.push_back(i);
    }
    const std::size_t left = width_left(flexible);
    // Several share it: for that, each must say how much it could use.
    std::vector<std::size_t> rooms(shown_.size(), left);
    if (flexible.size() > 1 && look_.width != 0) {
      for (const std::size_t i : flexible) {
        rooms[i] = widths_[i];
        if (!is_name(i)) continue;
        for (const std::string& text : names.fit(lines_of(i), 0)) {
          rooms[i] = std::max(rooms[i], width_of(text));
        }
      }
      share(flexible, left, rooms);
    }
    for (const std::size_t i : flexible) {
      const std::size_t room = look_.width == 0 ? 0 : rooms[i];
      if (is_name(i)) {
        texts_[i] = names.fit(lines_of(i), room);
        for (const std::string& text : texts_[i]) widths_[i] = std::max(widths_[i], width_of(text));
      } else if (room != 0) {
        for (std::string& text : texts_[i]) text = cut(text, room);
        widths_[i] = std::min(widths_[i], room);
      }
    }
  }

  bool is_name(std::size_t i) const { return table_.columns[shown_[i]].kind == Kind::kName; }

  std::vector<Pieces> lines_of(std::size_t i) const {
    std::vector<Pieces> lines;
    for (const auto& row : rows_) {
      const Cell& cell = row[shown_[i]];
      lines.push_back(cell.shown ? Pieces{{*cell.shown, {}}} : cell.parts);
    }
    return lines;
  }

  // Without the columns `flexible`, and the blanks between all columns.
  std::size_t width_left(const std::vector<std::size_t>& flexible) const {
    const std::size_t least = kLeastColumns * std::max<std::size_t>(1, flexible.size());
    std::size_t others = shown_.empty() ? 0 : 2 * (shown_.size() - 1);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      if (std::find(flexible.begin(), flexible.end(), i) == flexible.end()) others += widths_[i];
    }
    return look_.width > others + least ? look_.width - others : least;
  }

  // Those that need less than an equal share get what they need, and leave the rest to the others.
  static void share(std::vector<std::size_t> columns, std::size_t left,
                    std::vector<std::size_t>& rooms) {
    std::stable_sort(columns.begin(), columns.end(),
                     [&](std::size_t a, std::size_t b) { return rooms[a] < rooms[b]; });
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::size_t& room = rooms[columns[i]];
      room = std::min(room, left / (columns.size() - i));
      left -= room;
    }
  }

  template <class TextAt, class InkAt>
  void put_line(std::string& out, TextAt text_at, InkAt ink_at) const {
    std::size_t blanks = 0;  // written only before something: no blanks at the ends of lines
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const std::string text = text_at(i);
      const std::size_t have = width_of(text);
      const std::size_t fill = widths_[i] > have ? widths_[i] - have : 0;
      const bool right = !table_.columns[shown_[i]].is_text();
      if (right) blanks += fill;
      if (!text.empty()) {
        out += std::string(blanks, ' ') + paint(look_, ink_at(i), text);
        blanks = 0;
      }
      if (!right) blanks += fill;
      blanks += 2;
    }
    out += "\n";
  }

  const Table& table_;
  const Look& look_;
  const Measure& measure_;
  std::vector<std::size_t> shown_;  // columns
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::vector<std::string>> texts_;  // by place in shown_, then by row
  std::vector<std::size_t> widths_;              // by place in shown_
};

}  // namespace

std::string text_of(const Table& table, const Look& look, const Names& names,
                    const Measure& measure) {
  return TextTable(table, look, names, measure).write();
}

std::string csv_field(std::string_view text) {
  std::string safe;
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) {
    safe = "'";
  }
  safe += text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string out = "\"";
  for (const char c : safe) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_of(const Table& table, const Names& names) {
  std::string out;
  std::vector<std::size_t> written;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].key.empty()) continue;
    out += (written.empty() ? "" : ",") + csv_field(table.columns[c].key);
    written.push_back(c);
  }
  out += '\n';
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::vector<Cell> row = table.row(i);
    for (std::size_t w = 0; w < written.size(); ++w) {
      const Cell& cell = row[written[w]];
      if (w != 0) out += ',';
      if (cell.number) {
        out += std::to_string(*cell.number);
      } else {
        out += csv_field(raw_text(cell, names));
      }
    }
    out += '\n';
  }
  return out;
}

std::string json_of(const Table& table, const Names& names) {
  JsonWriter json;
  json.StartArray();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::vector<Cell> row = table.row(i);
    json.StartObject();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      if (column.key.empty()) continue;
      json.key(column.key);
      const Cell& cell = row[c];
      if (column.kind == Kind::kFlag) {
        json.Bool(cell.number.value_or(0) != 0);
      } else if (cell.number) {
        json.Uint64(*cell.number);
      } else if (!column.is_text()) {
        json.Null();
      } else {
        json.text(raw_text(cell, names));
      }
    }
    json.EndObject();
  }
  json.EndArray();
  return json.take();
}

}  // namespace fbleprof::report
