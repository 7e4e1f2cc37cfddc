#include <fmt/format.h>

#include <algorithm>

#include "report/exporters/exporter.h"

namespace fbleprof::report {
namespace {

// Unordered until main(): static initialization has no defined order across files.
std::vector<Exporter>& registered() {
  static std::vector<Exporter> all;
  return all;
}

}  // namespace

RegisterExporter::RegisterExporter(Exporter exporter) { registered().push_back(exporter); }

const std::vector<Exporter>& exporters() {
  static const std::vector<Exporter> sorted = [] {
    std::vector<Exporter> all = registered();
    std::sort(all.begin(), all.end(),
              [](const Exporter& a, const Exporter& b) { return a.name < b.name; });
    return all;
  }();
  return sorted;
}

Result<const Exporter*> find_exporter(std::string_view name) {
  std::string known;
  for (const Exporter& exporter : exporters()) {
    if (exporter.name == name) return &exporter;
    known += known.empty() ? "" : ", ";
    known += exporter.name;
  }
  return Error{"", std::nullopt, fmt::format("--export {}: no such format", name),
               "there are " + known};
}

}  // namespace fbleprof::report
