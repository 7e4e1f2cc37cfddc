#include "profile/snapshot_reader.h"

#include <algorithm>
#include <cstring>

namespace fbleprof::profile {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

}  // namespace

void SnapshotReader::add_items(const Record& record) {
  const auto head = walk_.read<format::SnapshotItems>(record);
  const bool of_nodes = record.kind == format::Kind::kSnapshotNodes;
  const std::size_t least =
      sizeof(format::SnapshotItem) + (of_nodes ? std::size_t{image_.header().row_bytes} : 0);
  auto items = Items::of(record, head.item_bytes, least, false);
  if (!items) {
    if (!record.is_cut) {
      walk_.note_unresolved("readable item of a snapshot", record.ref, 0, record.offset());
    }
    return;
  }
  items->limit(head.item_count);
  items_.push_back({head.snapshot, of_nodes, *items});
}

void SnapshotReader::add_edges(const Items& items) {
  edge_runs_.push_back({items, edge_ids_.size()});
  edge_ids_.resize(edge_ids_.size() + items.count());
}

void SnapshotReader::place_edge(std::uint64_t item, EdgeId edge) {
  edge_ids_[edge_runs_.back().first + item] = edge;
}

EdgeId SnapshotReader::edge(format::Ref ref) const {
  const std::uint64_t offset = std::uint64_t{ref} * format::kUnitBytes;
  const auto after = std::upper_bound(
      edge_runs_.begin(), edge_runs_.end(), offset,
      [](std::uint64_t value, const EdgeRun& run) { return value < run.items.begin(); });
  if (after == edge_runs_.begin()) return EdgeId();
  const EdgeRun& run = *std::prev(after);
  const auto place = run.items.place(ref);
  return place ? edge_ids_[run.first + *place] : EdgeId();
}

void SnapshotReader::read_items(const ItemsOf& run, std::uint32_t words, Snapshot& out,
                                const NodeOf& node_of) {
  run.items.each(walk_.window(), [&](std::uint64_t i, const std::byte* bytes) {
    const auto& item = *reinterpret_cast<const format::SnapshotItem*>(bytes);
    const std::uint64_t at = run.items.begin() + i * run.items.item_bytes();
    if (!run.of_nodes) {
      if (const EdgeId of = edge(item.of)) {
        out.edges.push_back(of);
        out.edge_calls.push_back(item.calls);
      } else {
        walk_.note_unresolved("edge", item.of, sizeof(format::Edge), at);
      }
      return;
    }
    const NodeId node = node_of(item.of);
    if (!node) return walk_.note_unresolved("node", item.of, sizeof(format::Node), at);
    out.nodes.push_back(node);
    out.tree_calls.push_back(item.calls);
    if (words == 0) return;  // a damaged header: rows without values
    const std::size_t before = out.words.size();
    out.words.resize(before + words);
    std::memcpy(out.words.data() + before, bytes + sizeof item, words * kWord);
  });
}

std::shared_ptr<const Snapshots> SnapshotReader::read(std::shared_ptr<const Nodes> nodes,
                                                      std::shared_ptr<const Edges> edges,
                                                      const std::vector<MetricSource>& sources,
                                                      const NodeOf& node_of,
                                                      const StringOf& string_of) {
  if (records_.empty()) return nullptr;
  auto result = std::make_shared<Snapshots>();
  result->words_per_node = static_cast<std::uint32_t>(image_.header().row_bytes / kWord);
  result->sources = sources;
  result->of_nodes = std::move(nodes);
  result->of_edges = std::move(edges);
  FlatMap index;
  for (const auto& [ref, record] : records_) {
    if (record.is_complete == 0) continue;
    index.insert(ref, static_cast<std::uint32_t>(result->all.size()));
    Snapshot& snapshot = result->all.emplace_back();
    snapshot.name = string_of(record.name, std::uint64_t{ref} * format::kUnitBytes);
    snapshot.generation = record.generation;
    snapshot.time_ns = record.time_ns;
    snapshot.reason =
        record.reason > SnapshotReason::kReset ? SnapshotReason::kAsked : record.reason;
  }
  for (const ItemsOf& run : items_) {
    const std::uint32_t at = index.find(run.snapshot);
    if (at != FlatMap::kAbsent) {
      read_items(run, result->words_per_node, result->all[at], node_of);
    }
  }
  std::stable_sort(
      result->all.begin(), result->all.end(),
      [](const Snapshot& a, const Snapshot& b) { return a.generation < b.generation; });
  return result;
}

}  // namespace fbleprof::profile
