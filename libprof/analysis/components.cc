#include "analysis/components.h"

#include <algorithm>

namespace fbleprof::analysis {

std::vector<std::uint32_t> components(
    std::size_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  std::vector<std::uint32_t> first(count + 1), to(edges.size());
  for (const auto& [from, unused] : edges) ++first[from + 1];
  for (std::size_t i = 1; i <= count; ++i) first[i] += first[i - 1];
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const auto& edge : edges) to[next[edge.first]++] = edge.second;
  std::copy(first.begin(), first.end() - 1, next.begin());

  constexpr std::uint32_t kUnseen = 0xffffffffu;
  std::vector<std::uint32_t> component(count, kUnseen), order(count, kUnseen), low(count);
  std::vector<std::uint32_t> open;  // visited, in no component yet
  std::vector<std::uint32_t> walk;  // the path of the search
  std::uint32_t seen = 0, found = 0;
  for (std::uint32_t start = 0; start < count; ++start) {
    if (order[start] != kUnseen) continue;
    walk.push_back(start);
    while (!walk.empty()) {
      const std::uint32_t at = walk.back();
      if (order[at] == kUnseen) {
        order[at] = low[at] = seen++;
        open.push_back(at);
      }
      if (next[at] < first[at + 1]) {
        const std::uint32_t callee = to[next[at]++];
        if (order[callee] == kUnseen) {
          walk.push_back(callee);
        } else if (component[callee] == kUnseen) {
          low[at] = std::min(low[at], order[callee]);
        }
        continue;
      }
      walk.pop_back();
      if (!walk.empty()) low[walk.back()] = std::min(low[walk.back()], low[at]);
      if (low[at] != order[at]) continue;
      for (std::uint32_t member = kUnseen; member != at;) {
        member = open.back();
        open.pop_back();
        component[member] = found;
      }
      ++found;
    }
  }
  return component;
}

}  // namespace fbleprof::analysis
