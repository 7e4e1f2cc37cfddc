// Tables: the same rows as text for people, as CSV and as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/text/input.h"

namespace fbleprof::report {

struct Column {
  std::string key;    // CSV header and JSON name; "" = for people only
  std::string title;  // of the text table; "" = for programs only
  enum class Align { kLeft, kRight } align = Align::kRight;
};

struct Cell {
  std::string text;                     // for people
  std::optional<std::uint64_t> number;  // for programs; else `raw`
  std::string raw;                      // escaped
  Ink ink = Ink::kPlain;
  bool is_flag = false;   // number is true or false
  std::string tail = {};  // the end of `text` that stays when it is cut
};

Cell name_cell(const Input& input, profile::FunctionId function);
Cell text_cell(std::string text);
Cell count_cell(std::uint64_t value);
// A cost in the metric's unit; "≥" if it is a bound.
Cell cost_cell(const Input& input, std::uint64_t value, bool is_bound = false);
// With "≥" before it if `part` is a lower bound.
Cell percent_cell(std::uint64_t part, std::uint64_t whole, bool is_bound = false);
Cell flag_cell(bool value);

struct Table {
  std::string title;  // text only; "" = none
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> notes;  // lines below the text

  void add(std::vector<Cell> row) { rows.push_back(std::move(row)); }
};

// The last left-aligned column takes what width is left and is cut to it.
std::string text_of(const Table& table, const Look& look);
std::string csv_of(const Table& table);
// [{"key": value, ...}, ...]
std::string json_of(const Table& table);

// One CSV field, quoted if need be.
std::string csv_field(std::string_view text);

}  // namespace fbleprof::report
