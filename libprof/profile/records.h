// Checked access to the records of a file image.
//
// A Ref in a file is anything until proven otherwise. Records are untyped: what a record is, its
// use says. So every record is claimed on first use, for one kind and for all its units; a Ref into
// the middle of a record, to a record of another kind, or beyond the end is refused, and a list or
// tree that runs in a circle meets its own claim. All work is thereby bounded by the file's size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "profile/file_image.h"

namespace fbleprof::profile {

enum class RecordKind : std::uint8_t {
  kFree = 0,  // claimed by nobody
  kRest,      // a later unit of a record
  kString,
  kModule,
  kFunction,
  kNode,
  kEdge,
  kCounters,
  kThread,
  kMetric,
  kNote,
  kLabel,
};
std::string_view record_name(RecordKind kind);

// Why a Ref could not be followed.
enum class RefFault : std::uint8_t { kNone, kBeyondEnd, kInHeader, kOverlap, kClaimed };

// What was wrong with a file, counted; the first of them told.
struct Damage {
  std::uint64_t beyond_end = 0;  // Refs that lead past the bytes that are there
  std::uint64_t other = 0;
  std::optional<std::uint64_t> first_offset;  // of the first of `other`
  std::string first_what;

  bool any() const { return beyond_end + other != 0; }
};

class Records {
 public:
  static constexpr std::uint32_t kNoIndex = 0xffffffffu;

  explicit Records(const FileImage& image);

  const FileImage& image() const { return image_; }
  std::uint32_t units() const { return units_; }
  RecordKind kind(format::Ref ref) const { return ref < units_ ? kinds_[ref] : RecordKind::kFree; }

  // The record at `ref` if it lies within the file: no claim, no kind check. Else null.
  template <class Record>
  const Record* peek(format::Ref ref) const {
    return fits(ref, sizeof(Record)) ? at<Record>(ref) : nullptr;
  }

  // Claims `units` units at `ref`.
  RefFault claim(format::Ref ref, RecordKind kind, std::uint64_t bytes);

  // Claims the record at `ref`, or notes the damage found at byte `from` and returns null.
  template <class Record>
  const Record* take(format::Ref ref, RecordKind kind, std::uint64_t from) {
    const RefFault fault = claim(ref, kind, sizeof(Record));
    if (fault == RefFault::kNone) return at<Record>(ref);
    note_fault(fault, kind, ref, from);
    return nullptr;
  }

  // The bytes of the String at `ref`, empty for 0 or damage. May be asked for again.
  std::string_view text(format::Ref ref, std::uint64_t from);

  // A number kept for each claimed record: its place in the profile's tables.
  std::uint32_t index(format::Ref ref) const {
    return kind(ref) == RecordKind::kNode ? node_index_[ref / 2] : index_.find(ref);
  }
  // Once a record.
  void set_index(format::Ref ref, std::uint32_t index) {
    if (kind(ref) == RecordKind::kNode) {
      node_index_[ref / 2] = index;
    } else {
      index_.insert(ref, index);
    }
  }

  std::uint64_t offset(const void* field) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(field) - image_.data());
  }

  void note_fault(RefFault fault, RecordKind kind, format::Ref ref, std::uint64_t from);
  void note_damage(std::uint64_t offset, std::string what);
  const Damage& damage() const { return damage_; }

 private:
  template <class Record>
  const Record* at(format::Ref ref) const {
    return reinterpret_cast<const Record*>(image_.data() + std::uint64_t{ref} * format::kUnitBytes);
  }
  bool fits(format::Ref ref, std::uint64_t bytes) const {
    return ref >= format::kHeaderBytes / format::kUnitBytes &&
           std::uint64_t{ref} * format::kUnitBytes + bytes <= image_.size();
  }

  const FileImage& image_;
  std::uint32_t units_;
  std::vector<RecordKind> kinds_;
  // Nodes are two units long, so that no two of them begin in the same pair of units. All else that
  // has an index is rare.
  std::vector<std::uint32_t> node_index_;
  FlatMap index_;
  Damage damage_;
};

}  // namespace fbleprof::profile
