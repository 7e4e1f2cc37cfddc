// Snapshots: the values of all nodes and edges at one moment, in the file.
//
// A snapshot that replaces an older one takes the older one's space but one: two areas take turns,
// so that one of them is complete at any moment. An area that is too small is followed by one of
// twice the size.
//
// Not in a signal handler: the work grows with the tree. No lock; one caller at a time.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/arena.h"

namespace fbleprof::signal_safe {

// Space for one snapshot, used again for a later one.
struct SnapshotArea {
  format::Ref snapshot = 0;  // Snapshot
  format::Ref nodes = 0;     // SnapshotItems of nodes
  format::Ref edges = 0;
  std::uint32_t node_capacity = 0, edge_capacity = 0;  // items
  // New space is larger than needed by this: the area is to be used again for a larger tree.
  std::uint32_t spare_percent = 100;
};

// Writes a snapshot into `area`, under a name (String) or none. False: there is no space.
bool take_snapshot(Arena& arena, SnapshotArea& area, format::SnapshotReason reason,
                   std::uint64_t time_ns, format::Ref name = 0);

// The area of a snapshot that is in the file.
SnapshotArea area_of(const Arena& arena, format::Ref snapshot);

// No reader takes it for a snapshot any more.
void withdraw_snapshot(Arena& arena, const SnapshotArea& area);

}  // namespace fbleprof::signal_safe
