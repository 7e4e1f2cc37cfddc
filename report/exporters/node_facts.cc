#include "report/exporters/node_facts.h"

#include "analysis/sampled.h"
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

std::vector<std::uint8_t> not_counted(const Profile& profile) {
  if (!analysis::has_counted_calls(profile)) return {};
  std::vector<std::uint8_t> marks = analysis::sampled_contexts(profile);
  const Nodes& nodes = profile.nodes();
  // Parents come first.
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const bool is_inlined =
        (profile.functions().flags[nodes.function[n].index()] & kFunctionInlined) != 0;
    if (!nodes.parent[n] || (!is_inlined && !is_place_in_parent(profile, NodeId(n)))) continue;
    marks[n] = marks[nodes.parent[n].index()];
  }
  return marks;
}

const Group* group_of(const Profile& profile, NodeId node) {
  const FunctionId function = profile.nodes().function[node.index()];
  const GroupId group = profile.functions().group[function.index()];
  return group ? &profile.groups()[group.index()] : nullptr;
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
  // Parts that the compiler split off are elsewhere under the same name.
  const StringId name = functions.name[f.index()];
  return name && functions.name[around.index()] == name;
}

}  // namespace fbleprof::report
