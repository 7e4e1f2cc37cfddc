#include "profile/salvage.h"

#include <algorithm>

namespace fbleprof::profile {
namespace {

bool looks_like_edge(const Records& records, const format::Edge& edge) {
  if (edge.kind > format::EdgeKind::kTail || edge.reserved != 0 || edge.from == 0 || edge.to == 0) {
    return false;
  }
  const auto* from = records.peek<format::Node>(edge.from);
  const auto* to = records.peek<format::Node>(edge.to);
  if (from == nullptr || to == nullptr) return false;
  switch (edge.kind) {
    case format::EdgeKind::kTree:
      return to->parent == edge.from && to->depth == from->depth + 1;
    case format::EdgeKind::kBack:
      return to->depth <= from->depth && to->function != 0 && from->function != 0;
    case format::EdgeKind::kTail:
      return to->function != 0 && from->function != 0;
  }
  return false;
}

bool looks_like_thread(const Records& records, format::Ref ref, const format::Thread& thread) {
  if (thread.root == 0 || thread.next == ref || thread.reserved[0] != 0 ||
      thread.reserved[1] != 0 || thread.threads_served == 0 || thread.tid == 0) {
    return false;
  }
  const auto* root = records.peek<format::Node>(thread.root);
  if (root == nullptr || root->parent != 0 || root->depth != 0) return false;
  const auto* function = records.peek<format::Function>(root->function);
  return function != nullptr && function->kind == format::FunctionKind::kRoot;
}

}  // namespace

Salvage::Salvage(const Records& records) {
  std::vector<Orphan> orphans;
  for (format::Ref ref = format::kHeaderBytes / format::kUnitBytes; ref < records.units(); ++ref) {
    if (records.kind(ref) != RecordKind::kFree) continue;
    const auto* edge = records.peek<format::Edge>(ref);
    if (edge != nullptr && looks_like_edge(records, *edge)) orphans.push_back({edge->from, ref});
    const auto* thread = records.peek<format::Thread>(ref);
    if (thread != nullptr && looks_like_thread(records, ref, *thread)) threads_.push_back(ref);
  }
  std::stable_sort(orphans.begin(), orphans.end(),
                   [](const Orphan& a, const Orphan& b) { return a.from < b.from; });
  from_.reserve(orphans.size());
  edges_.reserve(orphans.size());
  for (const Orphan& orphan : orphans) {
    from_.push_back(orphan.from);
    edges_.push_back(orphan.edge);
  }
}

std::span<const format::Ref> Salvage::edges_of(format::Ref node) const {
  const auto [begin, end] = std::equal_range(from_.begin(), from_.end(), node);
  return std::span(edges_).subspan(begin - from_.begin(), end - begin);
}

}  // namespace fbleprof::profile
