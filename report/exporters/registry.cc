#include <fmt/format.h>

#include <array>

#include "report/exporters/exporter.h"

namespace fbleprof::report {
namespace {

constexpr std::array kExporters = {
    Exporter{"pprof", "all metrics, gzipped: go tool pprof, Pyroscope", true, true, write_pprof},
    Exporter{"folded", "one metric, a line a stack: flamegraph.pl, inferno", false, false,
             write_folded},
    Exporter{"callgrind", "all metrics and exact calls: KCachegrind, callgrind_annotate", false,
             true, write_callgrind},
};

}  // namespace

std::span<const Exporter> exporters() { return kExporters; }

Result<const Exporter*> find_exporter(std::string_view name) {
  std::string known;
  for (const Exporter& exporter : kExporters) {
    if (exporter.name == name) return &exporter;
    known += known.empty() ? "" : ", ";
    known += exporter.name;
  }
  return Error{"", std::nullopt, fmt::format("--export {}: no such format", name),
               "there are " + known};
}

}  // namespace fbleprof::report
