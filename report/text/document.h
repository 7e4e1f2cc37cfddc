// The content of a view in any output format: facts and tables.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/text/table.h"

namespace fbleprof::report {

// The first field of every JSON document: docs/JSON.md describes the fields of this version.
inline constexpr std::string_view kJsonSchema = "fbleprof/1";

struct Field {
  std::string key;
  Cell value;
  bool is_flag = false;
};

// A part of a document, or all of it. In JSON an object of these, in this order.
struct Section {
  std::vector<Field> fields;
  // Objects of texts; keys and values are escaped.
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> maps;
  std::vector<Table> tables;
  std::string parts_key;
  std::vector<Section> parts;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;  // escaped
};

// Refers to the profile that it describes. In JSON: its view, its metric, and the content of
// Section.
struct Document : Section {
  Document(std::string view_name, Names names_of) : view(std::move(view_name)), names(names_of) {}

  std::string view;
  Names names;
  std::optional<Measure> measure;  // none: figures are of no metric
  std::optional<Table> flat;       // for CSV; none: the first table
  std::vector<std::string> notes;  // lines below the text, escaped
  // The text for people; none: the tables, one after the other.
  std::function<std::string(const Look&)> text;
  std::shared_ptr<const profile::Profile> held;  // objects that the view made
};

std::string render(const Document& document, const Look& look);

}  // namespace fbleprof::report
