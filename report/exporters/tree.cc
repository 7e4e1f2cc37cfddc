#include "report/exporters/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/default_metric.h"
#include "report/text/escape.h"
#include "report/text/names.h"

namespace fbleprof::report {

using namespace profile;

std::vector<std::string> function_names(const Profile& profile) {
  std::vector<std::string> names(profile.functions().count());
  for (const FunctionId f : profile.nodes().function) {
    std::string& name = names[f.index()];
    if (name.empty()) name = whole_name(profile, f);
  }
  return names;
}

std::vector<std::string> distinct_names(const Profile& profile) {
  const Names names = Names(profile).marked(profile.nodes().function);
  std::vector<std::string> all(profile.functions().count());
  for (const FunctionId f : profile.nodes().function) {
    std::string& name = all[f.index()];
    if (name.empty()) name = names.whole_marked(f);
  }
  return all;
}

std::vector<const Metric*> additive_metrics(const Export& input) {
  std::vector<const Metric*> metrics;
  for (const Metric& metric : input.profile.metrics()) {
    if (metric.aggregation == Aggregation::kSum) metrics.push_back(&metric);
  }
  const auto chosen = std::find(metrics.begin(), metrics.end(), &input.metric);
  if (chosen != metrics.end()) std::rotate(metrics.begin(), chosen, chosen + 1);
  return metrics;
}

Status check_additive(const Export& input, std::string_view format) {
  if (input.metric.aggregation == Aggregation::kSum) return std::nullopt;
  return Error{"", std::nullopt,
               fmt::format("{} adds values up, and those of \"{}\" are no sums", format,
                           escape(input.metric.name)),
               "choose another --metric, or export json or csv"};
}

std::string command_line(const Profile& profile) {
  if (profile.processes().empty()) return {};
  const Process& process = profile.processes().front();
  std::string text(profile.text(process.command_line));
  if (text.empty()) text = profile.text(process.executable);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return escape(text);
}

std::string program_name(const Profile& profile) {
  for (const Process& process : profile.processes()) {
    const std::string_view path = profile.text(process.executable);
    if (!path.empty()) return escape(base_name(path));
  }
  return "unknown";
}

std::uint64_t start_realtime_ns(const Profile& profile) {
  std::uint64_t start = 0;
  for (const Process& process : profile.processes()) {
    if (process.start_realtime_ns == 0) continue;
    start = start == 0 ? process.start_realtime_ns : std::min(start, process.start_realtime_ns);
  }
  return start;
}

std::uint64_t duration_ns(const Profile& profile) {
  std::uint64_t longest = 0;
  for (const Process& process : profile.processes()) {
    longest = std::max(longest, process.duration_ns);
  }
  return longest;
}

const Group* group_of(const Profile& profile, NodeId node) {
  const FunctionId function = profile.nodes().function[node.index()];
  const GroupId group = profile.functions().group[function.index()];
  return group ? &profile.groups()[group.index()] : nullptr;
}

Sampling sampling_of(const Profile& profile) {
  if (profile.processes().empty() || profile.processes().front().rate_hz == 0) return {};
  const Process& process = profile.processes().front();
  const Metric* clock = analysis::clock_metric(profile, process);
  if (clock == nullptr || clock->unit != "ns") return {};
  return {clock, 1'000'000'000 / process.rate_hz};
}

NodeId physical_frame(const Profile& profile, NodeId node) {
  const Nodes& nodes = profile.nodes();
  while ((profile.functions().flags[nodes.function[node.index()].index()] & kFunctionInlined) !=
             0 &&
         nodes.parent[node.index()]) {
    node = nodes.parent[node.index()];
  }
  return node;
}

bool is_place_in_parent(const Profile& profile, NodeId node) {
  const Functions& functions = profile.functions();
  const Nodes& nodes = profile.nodes();
  const FunctionId f = nodes.function[node.index()];
  const NodeId parent = nodes.parent[node.index()];
  if (functions.kind[f.index()] != FunctionKind::kInstruction || !parent) return false;
  const FunctionId around = nodes.function[physical_frame(profile, parent).index()];
  if (functions.module[around.index()] != functions.module[f.index()]) return false;
  const std::uint64_t begin = functions.address[around.index()];
  const std::uint64_t at = functions.address[f.index()];
  if (at >= begin && at - begin < functions.size[around.index()]) return true;
  // Parts that the compiler split off lie elsewhere under the same name.
  const StringId name = functions.name[f.index()];
  return name && functions.name[around.index()] == name;
}

}  // namespace fbleprof::report
