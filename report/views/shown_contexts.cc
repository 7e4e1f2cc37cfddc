#include "report/views/shown_contexts.h"

#include <algorithm>

namespace fbleprof::report {

using namespace profile;

ShownContexts shown_contexts(const Nodes& nodes, const Look& look,
                             const std::function<bool(std::uint32_t)>& is_small,
                             const std::function<bool(NodeId, NodeId)>& comes_first) {
  const auto is_hidden = [&](std::uint32_t n) {
    return !look.all && ((look.depth != 0 && nodes.depth[n] > look.depth) ||
                         (look.min_for_programs != 0 && is_small(n)));
  };
  ShownContexts shown;
  shown.place.assign(nodes.count(), ShownContexts::kHidden);
  std::vector<std::uint32_t> pending, children;
  if (nodes.count() != 0) pending.push_back(0);
  while (!pending.empty()) {
    const std::uint32_t node = pending.back();
    pending.pop_back();
    shown.place[node] = static_cast<std::uint32_t>(shown.nodes.size());
    shown.nodes.push_back(node);
    children.clear();
    for (std::uint32_t c = node + 1; c < nodes.subtree_end[node]; c = nodes.subtree_end[c]) {
      if (!is_hidden(c)) children.push_back(c);
    }
    if (comes_first) {
      std::stable_sort(children.begin(), children.end(), [&](std::uint32_t a, std::uint32_t b) {
        return comes_first(NodeId(a), NodeId(b));
      });
    }
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
  return shown;
}

}  // namespace fbleprof::report
