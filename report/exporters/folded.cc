// Folded stacks: "a;b;c 123" per line, for flamegraph.pl, inferno and speedscope.
#include <fmt/format.h>

#include "profile/folded_name.h"
#include "report/exporters/additive_metrics.h"
#include "report/exporters/exporter.h"
#include "report/exporters/node_facts.h"

namespace fbleprof::report {

using namespace profile;

namespace {

Result<std::string> write_folded(const Export& input) {
  if (Status bad = check_additive(input, "folded")) return *bad;
  const Nodes& nodes = input.profile.nodes();
  std::vector<std::string> names = distinct_names(input.profile);
  for (std::string& name : names) name = folded_name(std::move(name));
  std::string out;
  // The path of the current node, and where in it each level ends.
  std::string path;
  std::vector<std::size_t> ends;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const std::size_t depth = nodes.depth[n];
    const std::string& name = names[nodes.function[n].index()];
    if (depth == 0) {
      // The root is only on a line of its own: every path contains it.
      if (const std::uint64_t own = input.metric.value(NodeId(n))) {
        out += fmt::format("{} {}\n", name, own);
      }
      ends.assign(1, 0);
      continue;
    }
    path.resize(ends[depth - 1]);
    ends.resize(depth);
    if (!path.empty()) path += ';';
    path += name;
    ends.push_back(path.size());
    if (const std::uint64_t own = input.metric.value(NodeId(n))) {
      out += path;
      out += fmt::format(" {}\n", own);
    }
  }
  return out;
}

const RegisterExporter kFolded({
    .name = "folded",
    .description = "one metric, one line per stack: flamegraph.pl, inferno",
    .wants_lines = true,  // files tell namesakes apart, as in formats that hold them
    .write = write_folded,
});

}  // namespace
}  // namespace fbleprof::report
