#include "analysis/callbacks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/sampled.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

using Place = std::pair<ModuleId, std::uint64_t>;

// The places, inside the calls, from which a counted caller's counted callees were called by other
// code.
using ForeignCalls = std::map<NodeId, std::vector<Place>>;

bool holds(const Functions& functions, FunctionId function, const Place& place) {
  const std::size_t f = function.index();
  return functions.module[f] == place.first && functions.address[f] <= place.second &&
         place.second - functions.address[f] < functions.size[f];
}

ForeignCalls foreign_calls(const Profile& profile) {
  const Edges& edges = profile.edges();
  const Nodes& nodes = profile.nodes();
  const Functions& functions = profile.functions();
  ForeignCalls calls;
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.calls[e] == 0 || !edges.site[e]) continue;
    const FunctionId callee = nodes.function[edges.to[e].index()];
    const std::size_t site = edges.site[e].index();
    const Place place{profile.sites().module[site], profile.sites().address[site] - 1};
    if (!place.first || functions.kind[callee.index()] != FunctionKind::kNative) continue;
    if (holds(functions, nodes.function[edges.from[e].index()], place)) continue;
    calls[edges.from[e]].push_back(place);
  }
  return calls;
}

}  // namespace

void mark_callbacks(const Profile& profile, std::vector<std::uint8_t>& marks) {
  const std::vector<std::uint8_t> sampled = sampled_contexts(profile);
  if (std::find(sampled.begin(), sampled.end(), 1) == sampled.end()) return;
  const Nodes& nodes = profile.nodes();
  const Functions& functions = profile.functions();
  for (auto& [caller, places] : foreign_calls(profile)) {
    std::sort(places.begin(), places.end());
    const std::uint32_t end = nodes.subtree_end[caller.index()];
    for (auto n = static_cast<std::uint32_t>(caller.index()) + 1; n < end;) {
      if (sampled[n] == 0) {
        n = nodes.subtree_end[n];
        continue;
      }
      const FunctionId function = nodes.function[n];
      const auto first = std::lower_bound(
          places.begin(), places.end(),
          Place{functions.module[function.index()], functions.address[function.index()]});
      if (first != places.end() && holds(functions, function, *first)) {
        for (NodeId above(n); above != caller; above = nodes.parent[above.index()]) {
          marks[above.index()] = 1;
        }
      }
      ++n;
    }
  }
}

}  // namespace fbleprof::analysis
