#include "report/text/document.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace fbleprof::report {
namespace {

class JsonDocument {
 public:
  explicit JsonDocument(const Document& document) : document_(document), json_(buffer_) {}

  std::string write() {
    json_.StartObject();
    member("schema", kJsonSchema);
    member("view", document_.view);
    if (const auto& measure = document_.measure) {
      member("metric", measure->metric);
      member("unit", measure->unit);
      member("total", measure->total);
      member("kept", measure->kept);
      key("kept_is_bound");
      json_.Bool(measure->kept_is_bound);
    }
    put(document_);
    json_.EndObject();
    return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
  }

 private:
  void key(std::string_view name) {
    json_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  }
  void text(std::string_view value) {
    json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  void member(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void member(std::string_view name, std::uint64_t value) {
    key(name);
    json_.Uint64(value);
  }

  void put(const Section& section) {
    for (const Field& field : section.fields) {
      if (field.is_flag) {
        key(field.key);
        json_.Bool(field.value.number.value_or(0) != 0);
      } else if (field.value.number) {
        member(field.key, *field.value.number);
      } else {
        member(field.key, field.value.parts.empty() ? "" : field.value.parts.front().text);
      }
    }
    for (const auto& [name, entries] : section.maps) {
      key(name);
      json_.StartObject();
      for (const auto& [entry, value] : entries) member(entry, value);
      json_.EndObject();
    }
    for (const Table& table : section.tables) {
      key(table.key);
      const std::string rows = json_of(table, document_.names);
      json_.RawValue(rows.data(), rows.size(), rapidjson::kArrayType);
    }
    if (!section.parts_key.empty()) {
      key(section.parts_key);
      json_.StartArray();
      for (const Section& part : section.parts) {
        json_.StartObject();
        put(part);
        json_.EndObject();
      }
      json_.EndArray();
    }
    for (const auto& [name, lines] : section.lists) {
      key(name);
      json_.StartArray();
      for (const std::string& line : lines) text(line);
      json_.EndArray();
    }
  }

  const Document& document_;
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> json_;
};

std::string text_of(const Document& document, const Look& look) {
  if (document.text) return document.text(look);
  const Measure measure = document.measure.value_or(Measure());
  std::string out;
  for (const Table& table : document.tables) {
    out += (out.empty() ? "" : "\n") + text_of(table, look, document.names, measure);
  }
  for (const std::string& note : document.notes) out += paint(look, Ink::kDim, note) + "\n";
  return out;
}

}  // namespace

std::string render(const Document& document, const Look& look) {
  switch (look.format) {
    case Format::kJson:
      return JsonDocument(document).write();
    case Format::kCsv:
      if (document.flat) return csv_of(*document.flat, document.names);
      return document.tables.empty() ? "" : csv_of(document.tables.front(), document.names);
    case Format::kText:
      break;
  }
  return text_of(document, look);
}

}  // namespace fbleprof::report
