#include "analysis/sampled.h"

#include <algorithm>

namespace fbleprof::analysis {

using namespace profile;

namespace {

bool stands_for_code(const Profile& profile, NodeId node) {
  switch (profile.functions().kind[profile.nodes().function[node.index()].index()]) {
    case FunctionKind::kNative:
    case FunctionKind::kBlock:
    case FunctionKind::kInstruction:
    case FunctionKind::kScript:
    case FunctionKind::kJit:
    case FunctionKind::kImported:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_sampled(const Profile& profile, EdgeId edge) {
  const Edges& edges = profile.edges();
  const std::size_t e = edge.index();
  if (edges.calls[e] != 0 || (edges.flags[e] & format::kEdgeSampled) == 0 || !edges.to[e]) {
    return false;
  }
  return stands_for_code(profile, edges.to[e]);
}

std::vector<std::uint8_t> sampled_contexts(const Profile& profile) {
  const Edges& edges = profile.edges();
  std::vector<std::uint8_t> sampled(profile.nodes().count());
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] != EdgeKind::kTree || !is_sampled(profile, EdgeId(e))) continue;
    sampled[edges.to[e].index()] = 1;
  }
  return sampled;
}

bool has_sampled_addresses(const Profile& profile) {
  const auto& kinds = profile.functions().kind;
  const auto& stands = profile.nodes().function;
  return std::any_of(stands.begin(), stands.end(),
                     [&](FunctionId f) { return kinds[f.index()] == FunctionKind::kInstruction; });
}

bool has_counted_calls(const Profile& profile) {
  const Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.calls[e] != 0) return true;
  }
  return false;
}

}  // namespace fbleprof::analysis
