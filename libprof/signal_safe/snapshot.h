// Snapshots: the values of all nodes and edges at one moment, in the file.
//
// A snapshot that replaces older ones takes the space of the one before the last: two areas take
// turns, so that one of them is complete at any moment. If an area is too small, a new one has
// twice the needed size.
//
// Not in a signal handler: the work grows with the tree. No lock; one caller at a time.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/arena.h"

namespace fbleprof::signal_safe {

// Space for one snapshot, which later snapshots reuse.
struct SnapshotArea {
  format::Ref snapshot = 0;  // Snapshot
  format::Ref nodes = 0;     // SnapshotItems of nodes
  format::Ref edges = 0;
  std::uint32_t node_capacity = 0, edge_capacity = 0;  // items
  // New space is larger than needed by this, because a larger tree will reuse the area.
  std::uint32_t spare_percent = 100;
};

// Writes a snapshot into `area`, under a name (String) or none. False: there is no space, and the
// area keeps the snapshot that it has.
bool take_snapshot(Arena& arena, SnapshotArea& area, format::SnapshotReason reason,
                   std::uint64_t time_ns, format::Ref name = 0);

// The area of a snapshot that is in the file.
SnapshotArea area_of(const Arena& arena, format::Ref snapshot);

// Hides the snapshot from readers.
void withdraw_snapshot(Arena& arena, const SnapshotArea& area);

}  // namespace fbleprof::signal_safe
