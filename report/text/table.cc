#include "report/text/table.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "report/text/escape.h"
#include "report/text/quantity.h"

namespace fbleprof::report {

Cell name_cell(const Input& input, profile::FunctionId function) {
  return {.text = input.look.width == 0 ? label(input, function)
                                        : short_label(input, function, input.look.width),
          .number = {},
          .raw = escape(display_name(input.profile, function)),
          .tail = mark_of(input, function)};
}

Cell text_cell(std::string text) {
  std::string safe = escape(text);
  return {.text = safe, .number = {}, .raw = safe};
}

Cell count_cell(std::uint64_t value) {
  return {.text = value == 0 ? "" : count(value), .number = value, .raw = {}};
}

Cell cost_cell(const Input& input, std::uint64_t value, bool is_bound) {
  return {.text = (is_bound ? "≥" : "") + quantity(value, input.metric.unit, input.look.unit),
          .number = value,
          .raw = {}};
}

Cell percent_cell(std::uint64_t part, std::uint64_t whole, bool is_bound) {
  return {.text = (is_bound ? "≥" : "") + percent(part, whole),
          .number = {},
          .raw = {},
          .ink = heat(percent_of(part, whole))};
}

Cell flag_cell(bool value) {
  return {.text = {}, .number = value ? 1 : 0, .raw = {}, .is_flag = true};
}

namespace {

// `text` in `width` columns; `tail` stays if it leaves the rest some room.
std::string fit(const std::string& text, const std::string& tail, std::size_t width) {
  const std::size_t kept = width_of(tail);
  if (kept == 0 || width_of(text) <= width || kept * 3 > width * 2 || !text.ends_with(tail)) {
    return cut(text, width);
  }
  return cut(text.substr(0, text.size() - tail.size()), width - kept) + tail;
}

}  // namespace

std::string text_of(const Table& table, const Look& look) {
  std::vector<std::size_t> shown;
  std::size_t flexible = table.columns.size();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].title.empty()) continue;
    shown.push_back(c);
    if (table.columns[c].align == Column::Align::kLeft) flexible = c;
  }
  std::vector<std::size_t> widths(table.columns.size());
  for (const std::size_t c : shown) {
    widths[c] = width_of(table.columns[c].title);
    for (const auto& row : table.rows) widths[c] = std::max(widths[c], width_of(row[c].text));
  }
  if (look.width != 0 && flexible < table.columns.size()) {
    std::size_t others = 0;
    for (const std::size_t c : shown) {
      if (c != flexible) others += widths[c] + 2;
    }
    const std::size_t left = look.width > others + 12 ? look.width - others : 12;
    widths[flexible] = std::min(widths[flexible], left);
  }

  std::string out;
  if (!table.title.empty()) out += paint(look, Ink::kBold, table.title) + "\n";
  const auto put_line = [&](auto cell_text, auto cell_tail, auto cell_ink) {
    std::string line;
    std::size_t blanks = 0;  // written only before something: no blanks at the ends of lines
    for (const std::size_t c : shown) {
      const std::string text = fit(cell_text(c), cell_tail(c), widths[c]);
      const std::size_t fill = widths[c] - width_of(text);
      const bool right = table.columns[c].align == Column::Align::kRight;
      if (right) blanks += fill;
      if (!text.empty()) {
        line += std::string(blanks, ' ') + paint(look, cell_ink(c), text);
        blanks = 0;
      }
      if (!right) blanks += fill;
      blanks += 2;
    }
    out += line + "\n";
  };
  put_line([&](std::size_t c) { return table.columns[c].title; },
           [](std::size_t) { return std::string(); }, [](std::size_t) { return Ink::kDim; });
  for (const auto& row : table.rows) {
    put_line([&](std::size_t c) { return row[c].text; }, [&](std::size_t c) { return row[c].tail; },
             [&](std::size_t c) { return row[c].ink; });
  }
  for (const std::string& note : table.notes) out += paint(look, Ink::kDim, note) + "\n";
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_of(const Table& table) {
  std::string out;
  const auto put_line = [&](auto field) {
    bool first = true;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].key.empty()) continue;
      if (!first) out += ',';
      first = false;
      out += csv_field(field(c));
    }
    out += '\n';
  };
  put_line([&](std::size_t c) { return table.columns[c].key; });
  for (const auto& row : table.rows) {
    put_line(
        [&](std::size_t c) { return row[c].number ? std::to_string(*row[c].number) : row[c].raw; });
  }
  return out;
}

std::string json_of(const Table& table) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  json.StartArray();
  for (const auto& row : table.rows) {
    json.StartObject();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string& key = table.columns[c].key;
      if (key.empty()) continue;
      json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
      if (row[c].is_flag) {
        json.Bool(*row[c].number != 0);
      } else if (row[c].number) {
        json.Uint64(*row[c].number);
      } else {
        json.String(row[c].raw.data(), static_cast<rapidjson::SizeType>(row[c].raw.size()));
      }
    }
    json.EndObject();
  }
  json.EndArray();
  return buffer.GetString();
}

}  // namespace fbleprof::report
