#include <fmt/format.h>

#include <array>

#include "report/exporters/exporter.h"

namespace fbleprof::report {
namespace {

constexpr std::array kExporters = {
    Exporter{"pprof", "all metrics, gzipped: go tool pprof, Pyroscope", true, true, write_pprof},
    Exporter{"otlp", "all metrics, a profile each: OpenTelemetry (in development there)", true,
             true, write_otlp},
    Exporter{"folded", "one metric, a line a stack: flamegraph.pl, inferno", false, false,
             write_folded},
    Exporter{"callgrind", "all metrics and exact calls: KCachegrind, callgrind_annotate", false,
             true, write_callgrind},
    Exporter{"speedscope", "a flame graph a metric: speedscope.app", false, true, write_speedscope},
    Exporter{"firefox", "profiler.firefox.com (its timeline means nothing)", false, true,
             write_firefox},
    Exporter{"dot", "the call graph for graphviz; --min and --all choose how much of it", false,
             false, write_dot},
    Exporter{"svg", "the same, drawn by graphviz's dot", false, false, write_svg},
    Exporter{"json", "everything, in a documented form", false, true, write_json},
    Exporter{"csv", "a row a context, all metrics", false, true, write_csv},
    Exporter{"html", "one page with a flame graph and tables; needs no network", false, true,
             write_html},
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
