#include "profile/records.h"

#include <fmt/format.h>

#include <algorithm>

namespace fbleprof::profile {

std::string_view record_name(RecordKind kind) {
  switch (kind) {
    case RecordKind::kFree:
    case RecordKind::kRest:
      break;
    case RecordKind::kString:
      return "string";
    case RecordKind::kModule:
      return "module";
    case RecordKind::kFunction:
      return "function";
    case RecordKind::kNode:
      return "node";
    case RecordKind::kEdge:
      return "edge";
    case RecordKind::kCounters:
      return "counters";
    case RecordKind::kThread:
      return "thread";
    case RecordKind::kMetric:
      return "metric";
    case RecordKind::kNote:
      return "note";
    case RecordKind::kLabel:
      return "label";
  }
  return "record";
}

Records::Records(const FileImage& image)
    : image_(image),
      units_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(image.size() / format::kUnitBytes, 0xfffffffeu))),
      kinds_(units_, RecordKind::kFree),
      node_index_(units_ / 2 + 1, kNoIndex) {
  static_assert(sizeof(format::Node) == 2 * format::kUnitBytes);
  static_assert(FlatMap::kAbsent == kNoIndex);
}

RefFault Records::claim(format::Ref ref, RecordKind kind, std::uint64_t bytes) {
  constexpr std::uint32_t kFirst = format::kHeaderBytes / format::kUnitBytes;
  const std::uint64_t count = (bytes + format::kUnitBytes - 1) / format::kUnitBytes;
  if (ref < kFirst) return RefFault::kInHeader;
  if (std::uint64_t{ref} + count > units_) return RefFault::kBeyondEnd;
  if (kinds_[ref] == kind) return RefFault::kClaimed;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (kinds_[ref + i] != RecordKind::kFree) return RefFault::kOverlap;
  }
  kinds_[ref] = kind;
  std::fill_n(kinds_.begin() + ref + 1, count - 1, RecordKind::kRest);
  return RefFault::kNone;
}

std::string_view Records::text(format::Ref ref, std::uint64_t from) {
  if (ref == 0) return {};
  const auto* head = peek<format::String>(ref);
  if (head == nullptr) {
    note_fault(ref < units_ ? RefFault::kInHeader : RefFault::kBeyondEnd, RecordKind::kString, ref,
               from);
    return {};
  }
  const std::uint64_t bytes = offsetof(format::String, bytes) + std::uint64_t{head->length};
  const RefFault fault = claim(ref, RecordKind::kString, bytes);
  if (fault != RefFault::kNone && fault != RefFault::kClaimed) {
    note_fault(fault, RecordKind::kString, ref, from);
    return {};
  }
  return {head->bytes, head->length};
}

void Records::note_fault(RefFault fault, RecordKind kind, format::Ref ref, std::uint64_t from) {
  switch (fault) {
    case RefFault::kNone:
      return;
    case RefFault::kBeyondEnd:
      ++damage_.beyond_end;
      if (!image_.truncated()) {
        note_damage(from, fmt::format("{} {:#x} lies beyond the end", record_name(kind), ref));
      }
      return;
    case RefFault::kInHeader:
      note_damage(from, fmt::format("{} {:#x} lies in the header", record_name(kind), ref));
      return;
    case RefFault::kOverlap:
      note_damage(from, fmt::format("{} {:#x} overlaps another record", record_name(kind), ref));
      return;
    case RefFault::kClaimed:
      note_damage(from, fmt::format("{} {:#x} is listed twice", record_name(kind), ref));
      return;
  }
}

void Records::note_damage(std::uint64_t offset, std::string what) {
  if (damage_.other++ == 0) {
    damage_.first_offset = offset;
    damage_.first_what = std::move(what);
  }
}

}  // namespace fbleprof::profile
