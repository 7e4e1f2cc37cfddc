#include "analysis/sampled.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<std::uint8_t> sampled_contexts(const Profile& profile) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const auto stands_for_code = [&](NodeId node) {
    switch (profile.functions().kind[nodes.function[node.index()].index()]) {
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
  };
  std::vector<std::uint8_t> sampled(nodes.count());
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] != EdgeKind::kTree || edges.calls[e] != 0 || !edges.to[e]) continue;
    const bool seen = (edges.flags[e] & format::kEdgeSampled) != 0;
    if (seen && stands_for_code(edges.to[e])) sampled[edges.to[e].index()] = 1;
  }
  return sampled;
}

bool has_counted_calls(const Profile& profile) {
  const Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.calls[e] != 0) return true;
  }
  return false;
}

}  // namespace fbleprof::analysis
