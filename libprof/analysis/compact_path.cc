#include "analysis/compact_path.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace fbleprof::analysis {

using namespace profile;

std::vector<PathPart> compact_path(const std::vector<FunctionId>& path) {
  std::unordered_map<FunctionId, std::size_t> last;
  for (std::size_t i = 0; i < path.size(); ++i) last[path[i]] = i;
  std::vector<PathPart> parts;
  for (std::size_t i = 0; i < path.size();) {
    // The stretch grows for as long as a function in it occurs again behind it.
    std::size_t end = last[path[i]];
    for (std::size_t k = i; k <= end; ++k) end = std::max(end, last[path[k]]);
    PathPart part;
    part.repeats = end > i;
    std::unordered_set<FunctionId> seen;
    for (; i <= end; ++i) {
      if (seen.insert(path[i]).second) part.functions.push_back(path[i]);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<FunctionId> path_to(const Profile& profile, NodeId node) {
  std::vector<FunctionId> path;
  const Nodes& nodes = profile.nodes();
  for (NodeId n = node; n && nodes.parent[n.index()]; n = nodes.parent[n.index()]) {
    path.push_back(nodes.function[n.index()]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace fbleprof::analysis
