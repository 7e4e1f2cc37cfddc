// Tables: the same rows for people as text, and for programs as CSV and JSON.
//
// Each column is named once. Its kind says how its values are shown to people: 1500000 of the kind
// "cost" is "1.50 ms" in a metric of time, and 1500000 in CSV and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/text/look.h"
#include "report/text/names.h"

namespace fbleprof::report {

struct Column {
  enum class Kind {
    kText,    // on the left, as are names
    kName,    // functions, shortened to the room there is
    kNumber,  // a plain number: an id, a line
    kCount,   // with thousands apart; nothing where it is zero
    kCost,    // in the unit of the metric
    kShare,   // a cost, shown as a share of all that was kept
    kTime,    // ns
    kFlag,    // true or false
  };
  std::string key;    // CSV header and JSON name; "" = for people only
  std::string title;  // of the text table; "" = for programs only
  Kind kind = Kind::kCount;
  // In text, numbers come first, then text; within these by `place`, then as listed.
  int place = 0;

  bool is_text() const { return kind == Kind::kText || kind == Kind::kName; }
};

struct Cell {
  std::optional<std::uint64_t> number;    // for programs; else `parts`
  Pieces parts = {};                      // for people where there is no number
  std::string raw = {};                   // for programs instead of `parts`, escaped
  std::optional<std::string> shown = {};  // for people, instead of all this; escaped
  bool has_raw = false;
  bool is_bound = false;  // the number is a lower bound: "≥"
  Ink ink = Ink::kPlain;
};

Cell name_cell(profile::FunctionId function, std::string behind = {});
Cell name_cell(Pieces parts, std::string raw);
// Visible to programs only; escaped.
Cell raw_cell(std::string raw);
Cell text_cell(std::string_view text);  // not escaped yet
Cell number_cell(std::uint64_t value, bool is_bound = false);
Cell flag_cell(bool value);
// Cost per call; empty without calls.
Cell average_cell(std::uint64_t cost, std::uint64_t calls, bool is_bound = false);
// Hidden in text: a cost that belongs to another row.
Cell hidden(Cell cell);
// Shown in text instead.
Cell shown_as(Cell cell, std::string text);

// What the figures of a metric refer to.
struct Measure {
  std::string metric, unit;
  std::uint64_t total = 0;  // before filtering
  std::uint64_t kept = 0;   // what percentages are of
  bool kept_is_bound = false;
};

struct Table {
  std::string key;    // of its rows in JSON
  std::string title;  // text only; "" = none
  std::vector<Column> columns;
  std::vector<std::string> notes;  // lines below the text, escaped

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  // Rows made on demand, so that a million of them are never in memory at once. Everything that
  // `make` refers to must outlive the table.
  void generate(std::size_t count, std::function<std::vector<Cell>(std::size_t)> make) {
    count_ = count;
    make_ = std::move(make);
  }
  std::size_t size() const { return make_ ? count_ : rows_.size(); }
  std::vector<Cell> row(std::size_t i) const { return make_ ? make_(i) : rows_[i]; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

 private:
  std::vector<std::vector<Cell>> rows_;
  std::size_t count_ = 0;
  std::function<std::vector<Cell>(std::size_t)> make_;
};

// Columns of names, and the last column of text, share the width left and are shortened to it.
// Without rows, only the notes.
std::string text_of(const Table& table, const Look& look, const Names& names,
                    const Measure& measure);
std::string csv_of(const Table& table, const Names& names);
// [{"key": value, ...}, ...]
std::string json_of(const Table& table, const Names& names);

// One CSV field, quoted if necessary. A text that a spreadsheet would run as a formula (`=`, `+`,
// `-`, `@` in front) gets a leading single quote.
std::string csv_field(std::string_view text);

}  // namespace fbleprof::report
