#include "report/exporters/document.h"

#include <fmt/format.h>

#include "analysis/costs.h"
#include "analysis/sampled.h"
#include "report/exporters/recorded_run.h"
#include "report/text/escape.h"
#include "report/text/json_writer.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

namespace {

const char* kind_name(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::kNative:
      return "native";
    case FunctionKind::kBlock:
      return "block";
    case FunctionKind::kRoot:
      return "root";
    case FunctionKind::kOverflow:
      return "overflow";
    case FunctionKind::kUnwound:
      return "unwound";
    case FunctionKind::kTruncated:
      return "truncated";
    case FunctionKind::kInstruction:
      return "instruction";
    case FunctionKind::kScript:
      return "script";
    case FunctionKind::kJit:
      return "jit";
    case FunctionKind::kImported:
      return "imported";
    case FunctionKind::kDeeper:
      return "deeper";
  }
  return "unknown";
}

const char* kind_name(EdgeKind kind) {
  return kind == EdgeKind::kTree ? "tree" : kind == EdgeKind::kBack ? "back" : "tail";
}

const char* aggregation_name(Aggregation aggregation) {
  return aggregation == Aggregation::kSum   ? "sum"
         : aggregation == Aggregation::kMax ? "max"
                                            : "last";
}

class Document {
 public:
  explicit Document(const Export& input) : input_(input), profile_(input.profile) {}

  std::string write() {
    json_.StartObject();
    json_.member("format", "fbleprof-profile");
    json_.member("version", std::uint64_t{kDocumentVersion});
    run();
    metrics();
    modules();
    functions();
    nodes();
    edges();
    json_.EndObject();
    return json_.take();
  }

 private:
  void run() {
    json_.member("command", command_line(profile_));
    json_.member("start_realtime_ns", start_realtime_ns(profile_));
    json_.member("duration_ns", duration_ns(profile_));
    json_.column("warnings", profile_.warnings().size(),
                 [&](std::size_t i) { json_.text(escape(profile_.warnings()[i])); });
    json_.member("metric", escape(input_.metric.name));
    json_.member("total", input_.total);
    json_.member("kept", analysis::total(profile_, input_.metric));
    json_.key("kept_is_bound");
    json_.Bool(input_.kept_is_bound);
  }

  void metrics() {
    json_.column("metrics", profile_.metrics().size(), [&](std::size_t i) {
      const Metric& metric = profile_.metrics()[i];
      json_.StartObject();
      json_.member("name", escape(metric.name));
      json_.member("unit", escape(metric.unit));
      json_.member("aggregation", aggregation_name(metric.aggregation));
      json_.member("total", analysis::total(profile_, metric));
      json_.EndObject();
    });
  }

  void modules() {
    const auto& modules = profile_.modules();
    json_.key("modules");
    json_.StartObject();
    json_.column("path", modules.size(),
                 [&](std::size_t i) { json_.text(escape(profile_.text(modules[i].path))); });
    json_.column("build_id", modules.size(),
                 [&](std::size_t i) { json_.text(escape(profile_.text(modules[i].build_id))); });
    json_.EndObject();
  }

  // Only functions in the tree, numbered in order of first use.
  void functions() {
    const Functions& all = profile_.functions();
    number_.assign(all.count(), 0);
    std::vector<std::size_t> met;
    for (const FunctionId f : profile_.nodes().function) {
      if (number_[f.index()] != 0) continue;
      met.push_back(f.index());
      number_[f.index()] = static_cast<std::uint32_t>(met.size());
    }
    json_.key("functions");
    json_.StartObject();
    const auto column = [&](const char* name, auto write_one) {
      json_.column(name, met.size(), [&](std::size_t i) { write_one(met[i]); });
    };
    column("name", [&](std::size_t f) { json_.text(whole_name(profile_, FunctionId(f))); });
    column("linkage_name",
           [&](std::size_t f) { json_.text(escape(profile_.text(all.linkage_name[f]))); });
    column("kind", [&](std::size_t f) { json_.text(kind_name(all.kind[f])); });
    column("inlined", [&](std::size_t f) { json_.Uint((all.flags[f] & kFunctionInlined) != 0); });
    column("module", [&](std::size_t f) {
      json_.Int64(all.module[f] ? static_cast<std::int64_t>(all.module[f].index()) : -1);
    });
    // As text: JavaScript's exact integers end at 2^53.
    column("address", [&](std::size_t f) { json_.text(fmt::format("0x{:x}", all.address[f])); });
    column("file", [&](std::size_t f) { json_.text(escape(profile_.text(all.file[f]))); });
    column("line", [&](std::size_t f) { json_.Uint(all.line[f]); });
    json_.EndObject();
  }

  void nodes() {
    const Nodes& nodes = profile_.nodes();
    json_.key("nodes");
    json_.StartObject();
    json_.column("parent", nodes.count(), [&](std::size_t n) {
      json_.Int64(nodes.parent[n] ? static_cast<std::int64_t>(nodes.parent[n].index()) : -1);
    });
    json_.column("function", nodes.count(),
                 [&](std::size_t n) { json_.Uint(number_[nodes.function[n].index()] - 1); });
    json_.key("values");
    json_.StartArray();
    for (const Metric& metric : profile_.metrics()) {
      json_.StartArray();
      // A metric that is zero everywhere is an empty column.
      if (metric.values) {
        for (std::size_t n = 0; n < nodes.count(); ++n) json_.Uint64(metric.value(NodeId(n)));
      }
      json_.EndArray();
    }
    json_.EndArray();
    json_.EndObject();
  }

  void edges() {
    const Edges& edges = profile_.edges();
    json_.key("edges");
    json_.StartObject();
    json_.column("from", edges.count(), [&](std::size_t e) { json_.Uint(edges.from[e].index()); });
    json_.column("to", edges.count(), [&](std::size_t e) { json_.Uint(edges.to[e].index()); });
    json_.column("kind", edges.count(),
                 [&](std::size_t e) { json_.text(kind_name(edges.kind[e])); });
    json_.column("calls", edges.count(), [&](std::size_t e) { json_.Uint64(edges.calls[e]); });
    json_.column("sampled", edges.count(),
                 [&](std::size_t e) { json_.Bool(analysis::is_sampled(profile_, EdgeId(e))); });
    json_.EndObject();
  }

  const Export& input_;
  const Profile& profile_;
  JsonWriter json_;
  std::vector<std::uint32_t> number_;  // by function: 1 and up; 0 = not in the tree
};

}  // namespace

std::string profile_document(const Export& input) { return Document(input).write(); }

}  // namespace fbleprof::report
