#include "profile/tree_reader.h"

#include <fmt/format.h>

#include <cstring>

namespace fbleprof::profile {

TreeReader::TreeReader(Records& records, std::vector<MetricSource> metrics, FunctionOf function_of,
                       SiteOf site_of)
    : records_(records),
      metrics_(std::move(metrics)),
      function_of_(std::move(function_of)),
      site_of_(std::move(site_of)),
      values_(metrics_.size()) {
  // The counts in the header are a hint, the file's size is the bound.
  const std::uint64_t nodes =
      std::min<std::uint64_t>(records.image().header().node_count, records.units() / 2);
  const std::uint64_t edges =
      std::min<std::uint64_t>(records.image().header().edge_count, records.units());
  nodes_.parent.reserve(nodes);
  nodes_.function.reserve(nodes);
  nodes_.depth.reserve(nodes);
  nodes_.subtree_end.reserve(nodes);
  edges_.from.reserve(edges);
  edges_.to.reserve(edges);
  edges_.kind.reserve(edges);
  edges_.flags.reserve(edges);
  edges_.calls.reserve(edges);
  edges_.site.reserve(edges);
}

bool TreeReader::open_node(format::Ref ref, NodeId parent, std::uint64_t from) {
  const auto* node = records_.take<format::Node>(ref, RecordKind::kNode, from);
  if (node == nullptr) return false;
  const NodeId id(nodes_.count());
  records_.set_index(ref, id.index());
  const std::uint32_t depth = parent ? nodes_.depth[parent.index()] + 1 : 0;
  if (node->depth != depth || (!parent && node->parent != 0)) ++wrong_links_;
  nodes_.parent.push_back(parent);
  nodes_.function.push_back(function_of_(node->function, records_.offset(&node->function)));
  nodes_.depth.push_back(depth);
  nodes_.subtree_end.push_back(0);

  const format::Counters* extra = nullptr;
  if (node->extra != 0) {
    extra = records_.take<format::Counters>(node->extra, RecordKind::kCounters,
                                            records_.offset(&node->extra));
  }
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    std::uint64_t value = 0;
    if (metrics_[m].place == format::MetricPlace::kNodeField) {
      std::memcpy(&value, reinterpret_cast<const std::byte*>(node) + metrics_[m].slot * 8, 8);
    } else if (extra != nullptr) {
      value = extra->value[metrics_[m].slot];
    }
    // A column starts to exist at its first value that is not zero.
    if (value != 0) {
      if (values_[m].empty()) values_[m].reserve(nodes_.parent.capacity());
      values_[m].resize(id.index());
      values_[m].push_back(value);
    }
  }
  stack_.push_back({ref, id, node->first_edge, records_.offset(&node->first_edge)});
  return true;
}

void TreeReader::follow(Open& open, format::Ref edge, const format::Edge& record) {
  const std::uint64_t at = records_.offset(&record);
  if (record.from != open.node) {
    records_.note_damage(at, fmt::format("edge {:#x} does not leave the node that lists it", edge));
    return;
  }
  if (record.kind > EdgeKind::kTail) {
    records_.note_damage(at, fmt::format("edge {:#x} is of no known kind", edge));
    return;
  }
  const NodeId from = open.id;
  NodeId to;
  if (record.kind == EdgeKind::kTree) {
    const auto* child = records_.peek<format::Node>(record.to);
    if (child != nullptr && child->parent != open.node) {
      ++wrong_links_;
      records_.note_damage(at, fmt::format("node {:#x} has another parent", record.to));
      return;
    }
    to = NodeId(nodes_.count());
    if (!open_node(record.to, from, at + offsetof(format::Edge, to)))
      return;  // `open` is stale now
  } else {
    to = NodeId(record.to);  // a Ref, until all nodes are known
    unresolved_.push_back(static_cast<std::uint32_t>(edges_.count()));
  }
  edges_.from.push_back(from);
  edges_.to.push_back(to);
  edges_.kind.push_back(record.kind);
  edges_.flags.push_back(record.flags);
  edges_.calls.push_back(record.calls);
  edges_.site.push_back(record.site == 0 ? SiteId() : site_of_(record.site));
}

Tree TreeReader::read(format::Ref root, std::uint64_t from, const Salvage& salvage) {
  const NodeId begin(nodes_.count());
  if (!open_node(root, NodeId(), from)) return {};
  while (!stack_.empty()) {
    Open& open = stack_.back();
    if (open.edge != 0) {
      const format::Ref edge = open.edge;
      const auto* record = records_.take<format::Edge>(edge, RecordKind::kEdge, open.edge_from);
      if (record == nullptr) {
        open.edge = 0;  // the rest of this list is out of reach
        continue;
      }
      open.edge = record->next;
      open.edge_from = records_.offset(&record->next);
      follow(open, edge, *record);
      continue;
    }
    const auto orphans = salvage.edges_of(open.node);
    if (open.salvaged < orphans.size()) {
      const format::Ref edge = orphans[open.salvaged++];
      if (records_.claim(edge, RecordKind::kEdge, sizeof(format::Edge)) == RefFault::kNone) {
        follow(open, edge, *records_.peek<format::Edge>(edge));
      }
      continue;
    }
    nodes_.subtree_end[open.id.index()] = static_cast<std::uint32_t>(nodes_.count());
    stack_.pop_back();
  }
  return {begin, NodeId(nodes_.count()), {}, {}};
}

void TreeReader::finish() {
  std::vector<bool> lost(edges_.count());
  std::size_t lost_count = 0;
  for (const std::uint32_t e : unresolved_) {
    const format::Ref ref = edges_.to[e].index();
    if (records_.kind(ref) == RecordKind::kNode) {
      edges_.to[e] = NodeId(records_.index(ref));
      continue;
    }
    const bool beyond = std::uint64_t{ref} + 2 > records_.units();
    records_.note_fault(beyond ? RefFault::kBeyondEnd : RefFault::kOverlap, RecordKind::kNode, ref,
                        0);
    lost[e] = true;
    ++lost_count;
  }
  if (lost_count != 0) {
    std::size_t kept = 0;
    for (std::size_t e = 0; e < edges_.count(); ++e) {
      if (lost[e]) continue;
      edges_.from[kept] = edges_.from[e];
      edges_.to[kept] = edges_.to[e];
      edges_.kind[kept] = edges_.kind[e];
      edges_.flags[kept] = edges_.flags[e];
      edges_.calls.set(kept, edges_.calls[e]);
      edges_.site[kept] = edges_.site[e];
      ++kept;
    }
    edges_.from.resize(kept);
    edges_.to.resize(kept);
    edges_.kind.resize(kept);
    edges_.flags.resize(kept);
    edges_.calls.resize(kept);
    edges_.site.resize(kept);
  }
  for (auto& column : values_) {
    if (!column.empty()) column.resize(nodes_.count());
  }
}

}  // namespace fbleprof::profile
