// GraphML: the call graph with its figures, for tools that work on graphs: Gephi, yEd, networkx.
#include <fmt/format.h>

#include "analysis/functions.h"
#include "analysis/pair_table.h"
#include "report/exporters/exporter.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

namespace {

// As the text of an element. Control characters are escaped already.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

Result<std::string> write_graphml(const Export& input) {
  const analysis::Costs costs(input.profile, input.metric);
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  const auto key = [&](const char* id, const char* of, const char* type) {
    out += fmt::format("<key id=\"{}\" for=\"{}\" attr.name=\"{}\" attr.type=\"{}\"/>\n", id, of,
                       id, type);
  };
  key("name", "node", "string");
  key("self", "node", "long");
  key("dominated", "node", "long");
  key("calls", "all", "long");
  key("cost", "edge", "long");
  key("kind", "edge", "string");
  out += "<graph edgedefault=\"directed\">\n";
  // The root makes the calls without another caller, and need not have a row of its own.
  if (input.profile.nodes().count() != 0 && costs.own(NodeId(0)) == 0) {
    const FunctionId root = input.profile.nodes().function[0];
    out += fmt::format("<node id=\"n{}\"><data key=\"name\">{}</data></node>\n", root.index(),
                       xml(whole_name(input.profile, root)));
  }
  for (const analysis::FunctionRow& row : analysis::function_table(costs)) {
    out += fmt::format(
        "<node id=\"n{}\"><data key=\"name\">{}</data><data key=\"self\">{}</data>"
        "<data key=\"dominated\">{}</data><data key=\"calls\">{}</data></node>\n",
        row.function.index(), xml(whole_name(input.profile, row.function)), row.self, row.dominated,
        row.calls);
  }
  for (const analysis::PairRow& row : analysis::pair_table(costs)) {
    out += fmt::format(
        "<edge source=\"n{}\" target=\"n{}\"><data key=\"calls\">{}</data>"
        "<data key=\"cost\">{}</data><data key=\"kind\">{}</data></edge>\n",
        row.caller.index(), row.callee.index(), row.calls, row.cost, row.is_tail ? "tail" : "call");
  }
  return out + "</graph>\n</graphml>\n";
}

const RegisterExporter kGraphml({
    .name = "graphml",
    .description = "the call graph with its figures: Gephi, yEd, networkx",
    .write = write_graphml,
});

}  // namespace
}  // namespace fbleprof::report
