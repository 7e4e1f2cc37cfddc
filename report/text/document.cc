#include "report/text/document.h"

#include "report/text/json_writer.h"

namespace fbleprof::report {
namespace {

class JsonDocument {
 public:
  explicit JsonDocument(const Document& document) : document_(document) {}

  std::string write() {
    json_.StartObject();
    json_.member("schema", kJsonSchema);
    json_.member("view", document_.view);
    if (const auto& measure = document_.measure) {
      json_.member("metric", measure->metric);
      json_.member("unit", measure->unit);
      json_.member("total", measure->total);
      json_.member("kept", measure->kept);
      json_.key("kept_is_bound");
      json_.Bool(measure->kept_is_bound);
    }
    put(document_);
    json_.EndObject();
    return json_.take() + "\n";
  }

 private:
  void put(const Section& section) {
    for (const Field& field : section.fields) {
      if (field.is_flag) {
        json_.key(field.key);
        json_.Bool(field.value.number.value_or(0) != 0);
      } else if (field.value.number) {
        json_.member(field.key, *field.value.number);
      } else {
        json_.member(field.key, field.value.parts.empty() ? "" : field.value.parts.front().text);
      }
    }
    for (const auto& [name, entries] : section.maps) {
      json_.key(name);
      json_.StartObject();
      for (const auto& [entry, value] : entries) json_.member(entry, value);
      json_.EndObject();
    }
    for (const Table& table : section.tables) {
      json_.key(table.key);
      const std::string rows = json_of(table, document_.names);
      json_.RawValue(rows.data(), rows.size(), rapidjson::kArrayType);
    }
    if (!section.parts_key.empty()) {
      json_.key(section.parts_key);
      json_.StartArray();
      for (const Section& part : section.parts) {
        json_.StartObject();
        put(part);
        json_.EndObject();
      }
      json_.EndArray();
    }
    for (const auto& [name, lines] : section.lists) {
      json_.key(name);
      json_.StartArray();
      for (const std::string& line : lines) json_.text(line);
      json_.EndArray();
    }
  }

  const Document& document_;
  JsonWriter json_;
};

std::string text_of(const Document& document, const Look& look) {
  if (document.text) return document.text(look);
  const Measure measure = document.measure.value_or(Measure());
  std::string out;
  for (const Table& table : document.tables) {
    const std::string text = text_of(table, look, document.names, measure);
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
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
