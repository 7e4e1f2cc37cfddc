// CSV: one row per context, with its own and inclusive value of every metric, in raw units.
#include <fmt/format.h>

#include "analysis/costs.h"
#include "analysis/sampled.h"
#include "report/exporters/exporter.h"
#include "report/text/escape.h"
#include "report/text/names.h"
#include "report/text/table.h"

namespace fbleprof::report {

using namespace profile;

namespace {

Result<std::string> write_csv(const Export& input) {
  const Profile& profile = input.profile;
  const Nodes& nodes = profile.nodes();
  const Functions& functions = profile.functions();
  std::string out = "id,parent,depth,function,module,file,line,sampled";
  std::vector<std::vector<std::uint64_t>> inclusive;
  for (const Metric& metric : profile.metrics()) {
    const std::string name = escape(metric.name);
    out += "," + csv_field(name + "_self") + "," + csv_field(name + "_total");
    inclusive.push_back(analysis::inclusive(profile, metric));
  }
  out += "\n";
  const auto sampled = analysis::sampled_contexts(profile);
  std::vector<std::string> described(functions.count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const FunctionId function = nodes.function[n];
    const std::size_t f = function.index();
    if (described[f].empty()) {
      const ModuleId module = functions.module[f];
      const std::string path =
          module ? escape(profile.text(profile.modules()[module.index()].path)) : std::string();
      described[f] =
          fmt::format("{},{},{},{}", csv_field(whole_name(profile, function)), csv_field(path),
                      csv_field(escape(profile.text(functions.file[f]))), functions.line[f]);
    }
    const std::string parent = nodes.parent[n] ? std::to_string(nodes.parent[n].index()) : "";
    out += fmt::format("{},{},{},{},{}", n, parent, nodes.depth[n], described[f], sampled[n]);
    for (std::size_t m = 0; m < inclusive.size(); ++m) {
      out += fmt::format(",{},{}", profile.metrics()[m].value(NodeId(n)), inclusive[m][n]);
    }
    out += "\n";
  }
  return out;
}

const RegisterExporter kCsv({
    .name = "csv",
    .description = "one row per context, all metrics",
    .wants_lines = true,
    .write = write_csv,
});

}  // namespace
}  // namespace fbleprof::report
