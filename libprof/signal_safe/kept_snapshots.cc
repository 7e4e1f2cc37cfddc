#include "signal_safe/kept_snapshots.h"

#include "signal_safe/snapshot.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;
using format::Snapshot;
using format::SnapshotReason;

bool is_named(const Arena& arena, Ref string, const char* name, std::uint32_t length) {
  if (string == 0) return length == 0;
  const auto* text = arena.at<format::String>(string);
  if (text->length != length) return false;
  const char* bytes = reinterpret_cast<const char*>(text) + offsetof(format::String, bytes);
  for (std::uint32_t i = 0; i < length; ++i) {
    if (bytes[i] != name[i]) return false;
  }
  return true;
}

// The number of snapshots with a reason and a name, and the oldest of them; 0: none.
struct Found {
  std::uint32_t count = 0;
  Ref oldest = 0;
};

Found find(const Arena& arena, SnapshotReason reason, const char* name, std::uint32_t length) {
  Found found;
  arena.for_each(format::Kind::kSnapshot, [&](Ref ref) {
    const auto* snapshot = arena.at<Snapshot>(ref);
    if (snapshot->reason != reason || !is_named(arena, snapshot->name, name, length)) return true;
    ++found.count;
    if (found.oldest == 0 || snapshot->generation < arena.at<Snapshot>(found.oldest)->generation) {
      found.oldest = ref;
    }
    return true;
  });
  return found;
}

}  // namespace

bool take_named_snapshot(Arena& arena, const char* name, std::uint32_t length,
                         std::uint64_t time_ns) {
  const Found older = find(arena, SnapshotReason::kAsked, name, length);
  // Other threads may add contexts during the snapshot.
  constexpr std::uint32_t kSparePercent = 5;
  SnapshotArea area;
  Ref string = 0;
  if (older.count != 0) {
    area = area_of(arena, older.oldest);
    string = arena.at<Snapshot>(older.oldest)->name;
  } else if (length != 0) {
    string = arena.add_string(name, length);
    if (string == 0) return false;
  }
  area.spare_percent = kSparePercent;
  return take_snapshot(arena, area, SnapshotReason::kAsked, time_ns, string);
}

bool take_reset_snapshot(Arena& arena, std::uint64_t time_ns) {
  // Two areas take turns: a reader always finds one complete, and the newest counts.
  const Found older = find(arena, SnapshotReason::kReset, "", 0);
  SnapshotArea area;
  if (older.count > 1) area = area_of(arena, older.oldest);
  return take_snapshot(arena, area, SnapshotReason::kReset, time_ns);
}

bool take_periodic_snapshot(Arena& arena, std::uint32_t most, std::uint64_t time_ns) {
  const Found older = find(arena, SnapshotReason::kPeriod, "", 0);
  SnapshotArea area;
  if (older.count >= most) area = area_of(arena, older.oldest);
  return take_snapshot(arena, area, SnapshotReason::kPeriod, time_ns);
}

}  // namespace fbleprof::signal_safe
