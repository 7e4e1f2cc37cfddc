#include "signal_safe/snapshot.h"

namespace fbleprof::signal_safe {

namespace {

using format::Kind;
using format::Ref;
using format::SnapshotItem;
using format::SnapshotItems;

std::uint32_t row_bytes_of(const Arena& arena) { return arena.header()->row_bytes; }

// Calls visit(ref, item) for each existing item of records of one kind.
template <typename Item, typename Visit>
void for_each_item(const Arena& arena, Kind kind, Visit visit) {
  arena.for_each(kind, [&](Ref ref) {
    const auto* record = arena.at<format::Nodes>(ref);
    const std::uint64_t bytes = std::uint64_t{record->head.units} * format::kUnitBytes;
    // Read once: a file that is truncated meanwhile becomes zeros.
    const std::uint32_t item_bytes = __atomic_load_n(&record->item_bytes, __ATOMIC_RELAXED);
    if (item_bytes == 0) return true;
    const std::uint32_t units = item_bytes / format::kUnitBytes;
    Ref at = ref + format::kItemsOffset / format::kUnitBytes;
    for (std::uint64_t end = format::kItemsOffset + item_bytes; end <= bytes;
         end += item_bytes, at += units) {
      visit(at, arena.at<Item>(at));
    }
    return true;
  });
}

bool is_made(const format::Node* node) {
  return __atomic_load_n(&node->function, __ATOMIC_ACQUIRE) != 0;
}
bool is_made(const format::Edge* edge) { return __atomic_load_n(&edge->to, __ATOMIC_ACQUIRE) != 0; }

std::uint64_t with_spare(std::uint32_t count, std::uint32_t percent) {
  return count + std::uint64_t{count} * percent / 100;
}

// Provides space for `count` items of `item_bytes`; keeps the existing space if it is enough.
// `more_bytes` stay free. A new record belongs to no snapshot yet, and the old one still does.
bool provide(Arena& arena, Ref* items, std::uint32_t* capacity, std::uint32_t count,
             std::uint32_t spare_percent, std::uint32_t item_bytes, std::uint64_t more_bytes,
             Kind kind) {
  if (count <= *capacity) return true;
  const std::uint64_t wanted = with_spare(count, spare_percent);
  // A quarter of the memory is for contexts only.
  const Ref made = arena.allocate_items(sizeof(SnapshotItems) + wanted * item_bytes,
                                        arena.cap_bytes() / 4 + more_bytes);
  if (made == 0) return false;
  *items = made;
  *capacity = static_cast<std::uint32_t>(wanted);
  arena.at<SnapshotItems>(made)->item_bytes = item_bytes;
  arena.publish(made, kind);
  return true;
}

// Provides space for a snapshot of so many items, or changes nothing.
bool provide_all(Arena& arena, SnapshotArea& area, std::uint32_t nodes, std::uint32_t edges) {
  const std::uint32_t spare = area.spare_percent;
  // Nodes get space only if edges will have theirs: nothing gives it back.
  const std::uint64_t edge_bytes = edges <= area.edge_capacity
                                       ? 0
                                       : format::kItemsOffset + sizeof(SnapshotItems) +
                                             with_spare(edges, spare) * sizeof(SnapshotItem);
  const std::uint32_t node_bytes = sizeof(SnapshotItem) + row_bytes_of(arena);
  SnapshotArea larger = area;
  if (!provide(arena, &larger.nodes, &larger.node_capacity, nodes, spare, node_bytes, edge_bytes,
               Kind::kSnapshotNodes) ||
      !provide(arena, &larger.edges, &larger.edge_capacity, edges, spare, sizeof(SnapshotItem), 0,
               Kind::kSnapshotEdges)) {
    return false;
  }
  // Only now: a reader must not find a complete snapshot without its items.
  withdraw_snapshot(arena, area);
  const auto detach = [&](Ref old, Ref now) {
    if (old != 0 && old != now) arena.at<SnapshotItems>(old)->snapshot = 0;
  };
  detach(area.nodes, larger.nodes);
  detach(area.edges, larger.edges);
  area = larger;
  return true;
}

char* item_at(const Arena& arena, Ref items, std::uint32_t index) {
  auto* record = arena.at<SnapshotItems>(items);
  return reinterpret_cast<char*>(record) + sizeof(SnapshotItems) +
         std::uint64_t{index} * record->item_bytes;
}

// The values of a node with any, or null.
const std::uint64_t* values_of(const Arena& arena, const format::Node* node) {
  const Ref block = __atomic_load_n(&node->values, __ATOMIC_ACQUIRE);
  if (block == 0) return nullptr;
  const auto* values = arena.at<std::uint64_t>(block);
  for (std::uint32_t i = 0; i < row_bytes_of(arena) / 8; ++i) {
    if (values[i] != 0) return values;
  }
  return nullptr;
}

void copy_nodes(const Arena& arena, const SnapshotArea& area) {
  const std::uint32_t words = row_bytes_of(arena) / 8;
  std::uint32_t count = 0;
  for_each_item<format::Node>(arena, Kind::kNodes, [&](Ref ref, const format::Node* node) {
    if (count == area.node_capacity || !is_made(node)) return;
    const std::uint64_t* values = values_of(arena, node);
    if (values == nullptr && node->calls == 0) return;
    char* to = item_at(arena, area.nodes, count++);
    *reinterpret_cast<SnapshotItem*>(to) = {ref, 0, node->calls};
    auto* copy = reinterpret_cast<std::uint64_t*>(to + sizeof(SnapshotItem));
    for (std::uint32_t i = 0; i < words; ++i) copy[i] = values != nullptr ? values[i] : 0;
  });
  arena.at<SnapshotItems>(area.nodes)->item_count = count;
}

void copy_edges(const Arena& arena, const SnapshotArea& area) {
  std::uint32_t count = 0;
  for_each_item<format::Edge>(arena, Kind::kEdges, [&](Ref ref, const format::Edge* edge) {
    if (count == area.edge_capacity || !is_made(edge) || edge->calls == 0) return;
    *reinterpret_cast<SnapshotItem*>(item_at(arena, area.edges, count++)) = {ref, 0, edge->calls};
  });
  arena.at<SnapshotItems>(area.edges)->item_count = count;
}

}  // namespace

bool take_snapshot(Arena& arena, SnapshotArea& area, format::SnapshotReason reason,
                   std::uint64_t time_ns, Ref name) {
  std::uint32_t nodes = 1, edges = 1;
  for_each_item<format::Node>(arena, Kind::kNodes, [&](Ref, const format::Node* node) {
    nodes += is_made(node) && (node->calls != 0 || values_of(arena, node) != nullptr);
  });
  for_each_item<format::Edge>(arena, Kind::kEdges, [&](Ref, const format::Edge* edge) {
    edges += is_made(edge) && edge->calls != 0;
  });
  if (!provide_all(arena, area, nodes, edges)) return false;
  const bool is_new = area.snapshot == 0;
  if (is_new) area.snapshot = arena.allocate(sizeof(format::Snapshot));
  if (area.snapshot == 0) return false;
  auto* snapshot = arena.at<format::Snapshot>(area.snapshot);
  snapshot->name = name;
  snapshot->reason = reason;
  snapshot->time_ns = time_ns;
  snapshot->generation = __atomic_add_fetch(&arena.header()->generation, 1, __ATOMIC_RELAXED);
  arena.at<SnapshotItems>(area.nodes)->snapshot = area.snapshot;
  arena.at<SnapshotItems>(area.edges)->snapshot = area.snapshot;
  copy_nodes(arena, area);
  copy_edges(arena, area);
  if (is_new) arena.publish(area.snapshot, Kind::kSnapshot);
  __atomic_store_n(&snapshot->is_complete, std::uint16_t{1}, __ATOMIC_RELEASE);
  return true;
}

SnapshotArea area_of(const Arena& arena, Ref snapshot) {
  SnapshotArea area;
  area.snapshot = snapshot;
  const auto find = [&](Kind kind, Ref* items, std::uint32_t* capacity) {
    arena.for_each(kind, [&](Ref ref) {
      const auto* record = arena.at<SnapshotItems>(ref);
      if (record->snapshot != snapshot) return true;
      const std::uint64_t bytes = std::uint64_t{record->head.units} * format::kUnitBytes;
      // As above.
      const std::uint32_t item_bytes = __atomic_load_n(&record->item_bytes, __ATOMIC_RELAXED);
      if (item_bytes == 0 || bytes < sizeof *record) return true;
      *items = ref;
      *capacity = static_cast<std::uint32_t>((bytes - sizeof *record) / item_bytes);
      return true;
    });
  };
  find(Kind::kSnapshotNodes, &area.nodes, &area.node_capacity);
  find(Kind::kSnapshotEdges, &area.edges, &area.edge_capacity);
  return area;
}

void withdraw_snapshot(Arena& arena, const SnapshotArea& area) {
  if (area.snapshot == 0) return;
  __atomic_store_n(&arena.at<format::Snapshot>(area.snapshot)->is_complete, std::uint16_t{0},
                   __ATOMIC_RELEASE);
  // A release store does not hold back stores that follow it. (No instruction on x86.)
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

}  // namespace fbleprof::signal_safe
