// speedscope: one flame graph per metric, for https://www.speedscope.app.
//
// A tree has no time axis. A depth-first walk, with each node's own value before its children,
// gives events that open and close frames. speedscope 1.25 walks call trees by recursion and fails
// to load 4000 levels, as events or as samples; so everything below level 1000 is one frame,
// [deeper].
#include <fmt/format.h>

#include "analysis/costs.h"
#include "report/exporters/additive_metrics.h"
#include "report/exporters/exporter.h"
#include "report/exporters/node_facts.h"
#include "report/exporters/recorded_run.h"
#include "report/text/escape.h"
#include "report/text/json_writer.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr std::uint32_t kDeepest = 1000;  // the root is level 0

const char* unit_name(const std::string& unit) {
  if (unit == "ns") return "nanoseconds";
  return unit == "bytes" ? "bytes" : "none";
}

// By function. A sampled address has the name of its function, which it does not make ambiguous:
// other members tell them apart.
std::vector<std::string> names_of_frames(const Profile& profile) {
  const auto is_place = [&](FunctionId f) {
    return profile.functions().kind[f.index()] == FunctionKind::kInstruction;
  };
  std::vector<FunctionId> functions = profile.nodes().function;
  std::erase_if(functions, is_place);
  const Names names = Names(profile).marked(functions);
  std::vector<std::string> all(profile.functions().count());
  for (const FunctionId f : profile.nodes().function) {
    std::string& name = all[f.index()];
    if (name.empty()) name = is_place(f) ? names.whole(f) : names.whole_marked(f);
  }
  return all;
}

class SpeedscopeWriter {
 public:
  explicit SpeedscopeWriter(const Export& input)
      : input_(input),
        profile_(input.profile),
        nodes_(input.profile.nodes()),
        names_(names_of_frames(input.profile)),
        frame_(input.profile.functions().count()) {}

  std::string write() {
    json_.StartObject();
    json_.member("$schema", "https://www.speedscope.app/file-format-schema.json");
    json_.member("exporter", "fble-prof-report");
    json_.member("name", command_line(profile_));
    json_.member("activeProfileIndex", std::uint64_t{0});
    frames();
    json_.key("profiles");
    json_.StartArray();
    const auto metrics = additive_metrics(input_);
    for (const Metric* metric : metrics) {
      // A metric that was not measured has no profile, unless it is the chosen one.
      const std::vector<std::uint64_t> cost = analysis::inclusive(profile_, *metric);
      if (metric == metrics.front() || (!cost.empty() && cost[0] != 0)) one(*metric, cost);
    }
    json_.EndArray();
    json_.EndObject();
    return json_.take();
  }

 private:
  void frames() {
    const Functions& functions = profile_.functions();
    json_.key("shared");
    json_.StartObject();
    json_.key("frames");
    json_.StartArray();
    std::uint32_t met = 0;
    for (const FunctionId function : nodes_.function) {
      const std::size_t f = function.index();
      if (frame_[f] != 0) continue;
      frame_[f] = ++met;
      json_.StartObject();
      json_.member("name", names_[f]);
      const std::string file = escape(profile_.text(functions.file[f]));
      if (!file.empty()) json_.member("file", file);
      if (functions.line[f] != 0) json_.member("line", std::uint64_t{functions.line[f]});
      if (functions.kind[f] == FunctionKind::kInstruction) place(function);
      json_.EndObject();
    }
    deeper_ = met;
    json_.StartObject();
    json_.member("name", "[deeper]");
    json_.EndObject();
    json_.EndArray();
    json_.EndObject();
  }

  // Members of our own, which speedscope ignores: a sampled address is read back as one.
  void place(FunctionId function) {
    const Functions& functions = profile_.functions();
    json_.member("address", fmt::format("0x{:x}", functions.address[function.index()]));
    const ModuleId id = functions.module[function.index()];
    if (!id) return;
    const Module& module = profile_.modules()[id.index()];
    json_.member("module", escape(profile_.text(module.path)));
    json_.member("build_id", escape(profile_.text(module.build_id)));
  }

  std::uint32_t frame(std::size_t node) const { return frame_[nodes_.function[node].index()] - 1; }

  void one(const Metric& metric, const std::vector<std::uint64_t>& cost) {
    json_.StartObject();
    json_.member("type", "evented");
    json_.member("name", escape(metric.name));
    json_.member("unit", unit_name(metric.unit));
    json_.member("startValue", std::uint64_t{0});
    json_.member("endValue", cost.empty() ? 0 : cost[0]);
    events(metric, cost);
    json_.EndObject();
  }

  void event(const char* type, std::uint64_t at, std::uint32_t frame) {
    json_.StartObject();
    json_.member("type", type);
    json_.member("frame", std::uint64_t{frame});
    json_.member("at", at);
    json_.EndObject();
  }

  void events(const Metric& metric, const std::vector<std::uint64_t>& cost) {
    json_.key("events");
    json_.StartArray();
    std::uint64_t now = 0;
    std::vector<std::size_t> open;
    for (std::size_t n = 0; n < nodes_.count();) {
      if (cost[n] == 0) {
        n = nodes_.subtree_end[n];
        continue;
      }
      while (!open.empty() && nodes_.subtree_end[open.back()] <= n) {
        event("C", now, frame(open.back()));
        open.pop_back();
      }
      if (nodes_.depth[n] > kDeepest) {
        event("O", now, deeper_);
        now += cost[n];
        event("C", now, deeper_);
        n = nodes_.subtree_end[n];
        continue;
      }
      const std::uint64_t own = metric.value(NodeId(n));
      if (nodes_.parent[n]) {
        event("O", now, frame(n));
        open.push_back(n);
        now += own;
      } else if (own != 0) {
        // The root is on every path: it is shown only for its own value.
        event("O", now, frame(n));
        now += own;
        event("C", now, frame(n));
      }
      ++n;
    }
    for (; !open.empty(); open.pop_back()) event("C", now, frame(open.back()));
    json_.EndArray();
  }

  const Export& input_;
  const Profile& profile_;
  const Nodes& nodes_;
  const std::vector<std::string> names_;
  std::vector<std::uint32_t> frame_;  // by function: number from 1; 0 = not met
  std::uint32_t deeper_ = 0;          // the frame for what is too deep
  JsonWriter json_;
};

Result<std::string> write_speedscope(const Export& input) {
  if (Status bad = check_additive(input, "speedscope")) return *bad;
  return SpeedscopeWriter(input).write();
}

const RegisterExporter kSpeedscope({
    .name = "speedscope",
    .description = "one flame graph per metric: speedscope.app",
    .wants_lines = true,
    .write = write_speedscope,
});

}  // namespace
}  // namespace fbleprof::report
