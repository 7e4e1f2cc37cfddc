#include "control/record_check.h"

#include <cstddef>

namespace fbleprof::control {

namespace {

using format::Head;
using format::Kind;
using format::kUnitBytes;
using format::Ref;
using signal_safe::Arena;

class Check {
 public:
  explicit Check(const Arena& arena)
      : arena_(arena), used_(arena.used_bytes()), row_bytes_(arena.header()->row_bytes) {}

  bool records() {
    constexpr std::uint32_t kMostRowBytes = 1 << 16;
    if (used_ < format::kHeaderBytes || used_ > arena_.cap_bytes()) return false;
    if (used_ / kUnitBytes > std::uint64_t{~Ref{0}}) return false;
    if (row_bytes_ % kUnitBytes != 0 || row_bytes_ > kMostRowBytes) return false;
    const std::uint64_t end = used_ / kUnitBytes;
    for (std::uint64_t ref = format::kHeaderBytes / kUnitBytes; ref < end;) {
      const auto* head = arena_.at<Head>(static_cast<Ref>(ref));
      const std::uint32_t units = __atomic_load_n(&head->units, __ATOMIC_ACQUIRE);
      if (units == 0) {
        empty_ += kUnitBytes;
      } else if (head->mark != format::kHeadMark || units > end - ref ||
                 !is_sound(static_cast<Ref>(ref), std::uint64_t{units} * kUnitBytes)) {
        return false;
      }
      if (!has_plausible_gaps()) return false;
      ref += units != 0 ? units : 1;
    }
    return true;
  }

 private:
  // The reference is younger than used_ if the program made it meanwhile.
  bool is_inside(Ref ref, std::uint64_t bytes) const {
    const std::uint64_t at = std::uint64_t{ref} * kUnitBytes;
    const std::uint64_t used = __atomic_load_n(&arena_.header()->used_bytes, __ATOMIC_ACQUIRE);
    return at >= format::kHeaderBytes && used <= arena_.cap_bytes() && at <= used &&
           bytes <= used - at;
  }

  bool is_sound(Ref ref, std::uint64_t bytes) {
    switch (__atomic_load_n(&arena_.at<Head>(ref)->kind, __ATOMIC_ACQUIRE)) {
      case Kind::kNodes:
        return items<format::Node>(ref, bytes, [this](const format::Node& node) {
          const Ref values = __atomic_load_n(&node.values, __ATOMIC_ACQUIRE);
          is_made_ = __atomic_load_n(&node.function, __ATOMIC_ACQUIRE) != 0;
          return values == 0 || is_inside(values, row_bytes_);
        });
      case Kind::kEdges:
        return items<format::Edge>(ref, bytes, [this](const format::Edge& edge) {
          is_made_ = __atomic_load_n(&edge.to, __ATOMIC_ACQUIRE) != 0;
          return true;
        });
      case Kind::kSnapshot:
        return bytes >= sizeof(format::Snapshot) &&
               is_string(arena_.at<format::Snapshot>(ref)->name);
      case Kind::kSnapshotNodes:
        return holds_items(ref, bytes, sizeof(format::SnapshotItem) + row_bytes_);
      case Kind::kSnapshotEdges:
        return holds_items(ref, bytes, sizeof(format::SnapshotItem));
      default:
        return true;
    }
  }

  // Whether the record has room for its head, and its items for what they are.
  bool holds_items(Ref ref, std::uint64_t bytes, std::uint64_t least) const {
    const std::uint32_t item_bytes = arena_.at<format::SnapshotItems>(ref)->item_bytes;
    return bytes >= format::kItemsOffset && item_bytes >= least && item_bytes % 8 == 0;
  }

  // Calls look(item), which sets is_made_, for each item until it returns false.
  template <typename Item, typename Look>
  bool items(Ref ref, std::uint64_t bytes, Look look) {
    const std::uint32_t item_bytes = arena_.at<format::Nodes>(ref)->item_bytes;
    if (bytes < format::kItemsOffset || item_bytes < sizeof(Item) || item_bytes % kUnitBytes != 0) {
      return false;
    }
    const char* at = reinterpret_cast<const char*>(arena_.at<char>(ref)) + format::kItemsOffset;
    for (std::uint64_t left = bytes - format::kItemsOffset; left >= item_bytes;
         left -= item_bytes, at += item_bytes) {
      if (!look(*reinterpret_cast<const Item*>(at))) return false;
      (is_made_ ? made_ : empty_) += item_bytes;
      if (!has_plausible_gaps()) return false;
    }
    return true;
  }

  bool is_string(Ref ref) const {
    if (ref == 0) return true;
    if (!is_inside(ref, sizeof(format::String))) return false;
    const auto* string = arena_.at<format::String>(ref);
    return string->head.kind == Kind::kString &&
           is_inside(ref, offsetof(format::String, bytes) + std::uint64_t{string->length});
  }

  // A recorder's pieces of memory are at most some times larger than what it made in them. A file
  // without data can have any length, and would be searched for ever.
  bool has_plausible_gaps() const {
    constexpr std::uint64_t kMost = 256 << 20, kTimes = 8;
    return empty_ <= kMost + kTimes * made_;
  }

  const Arena& arena_;
  std::uint64_t used_;
  std::uint32_t row_bytes_;
  std::uint64_t made_ = 0, empty_ = 0;  // bytes
  bool is_made_ = false;
};

}  // namespace

bool is_sound(const Arena& arena) { return Check(arena).records(); }

}  // namespace fbleprof::control
