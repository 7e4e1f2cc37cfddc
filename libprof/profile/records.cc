#include "profile/records.h"

#include <fmt/format.h>

namespace fbleprof::profile {

using format::Kind;

namespace {

constexpr std::uint64_t kUnit = format::kUnitBytes;

// The size of the struct alone; 0: such records have any length.
std::size_t struct_bytes(Kind kind) {
  switch (kind) {
    case Kind::kModule:
      return sizeof(format::Module);
    case Kind::kFunction:
      return sizeof(format::Function);
    case Kind::kMetric:
      return sizeof(format::Metric);
    case Kind::kNote:
      return sizeof(format::Note);
    case Kind::kLabelSet:
      return sizeof(format::LabelSet);
    case Kind::kLabel:
      return sizeof(format::Label);
    case Kind::kThread:
      return sizeof(format::Thread);
    case Kind::kTree:
      return sizeof(format::Tree);
    case Kind::kSnapshot:
      return sizeof(format::Snapshot);
    default:
      return 0;
  }
}

bool is_zero(const format::Head& head) {
  return head.units == 0 && head.kind == Kind::kUnfinished && head.mark == 0;
}

}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kUnfinished:
      return "unfinished";
    case Kind::kPrivate:
      return "private";
    case Kind::kString:
      return "string";
    case Kind::kModule:
      return "module";
    case Kind::kFunction:
      return "function";
    case Kind::kMetric:
      return "metric";
    case Kind::kNote:
      return "note";
    case Kind::kLabelSet:
      return "labelset";
    case Kind::kLabel:
      return "label";
    case Kind::kThread:
      return "thread";
    case Kind::kTree:
      return "tree";
    case Kind::kNodes:
      return "nodes";
    case Kind::kEdges:
      return "edges";
    case Kind::kValues:
      return "values";
    case Kind::kSnapshot:
      return "snapshot";
    case Kind::kSnapshotNodes:
      return "snapshotnodes";
    case Kind::kSnapshotEdges:
      return "snapshotedges";
  }
  return "record";
}

bool is_known(Kind kind) { return kind <= Kind::kSnapshotEdges; }

bool has_items(Kind kind) {
  return kind == Kind::kNodes || kind == Kind::kEdges || kind == Kind::kValues ||
         kind == Kind::kSnapshotNodes || kind == Kind::kSnapshotEdges;
}

void Damage::note(std::uint64_t offset, std::string what) {
  if (other++ == 0) {
    first_offset = offset;
    first_what = std::move(what);
  }
}

RecordWalk::RecordWalk(const FileImage& image, Damage& damage)
    : image_(image), damage_(damage), window_(image), end_(image.size()) {}

RecordWalk::Start RecordWalk::start_at(std::uint64_t at) {
  Start start{};
  const auto bytes = window_.at(at, sizeof start);
  std::memcpy(&start, bytes.data(), std::min(sizeof start, bytes.size()));
  return start;
}

bool RecordWalk::is_plausible(const Start& start, std::uint64_t at) const {
  const format::Head& head = start.head;
  if (head.mark != format::kHeadMark || head.units == 0) return false;
  const std::uint64_t end = at + head.units * kUnit;
  if (end > end_ && !(image_.truncated() && end <= image_.header().used_bytes)) return false;
  const bool is_newer = image_.header().minor_version > format::kMinorVersion;
  if (!is_known(head.kind)) return is_newer;
  if (has_items(head.kind)) return head.units * kUnit >= format::kItemsOffset;
  // A newer minor version may have added fields.
  std::uint64_t known = struct_bytes(head.kind);
  if (head.kind == Kind::kString) {
    const std::uint64_t bytes = offsetof(format::String, bytes) + std::uint64_t{start.length};
    known = (bytes + kUnit - 1) / kUnit * kUnit;
  }
  return known == 0 || is_newer || head.units * kUnit == known;
}

// If no head follows a record of any length, the record's own length may be damaged: then there may
// be other records in it.
std::uint64_t RecordWalk::end_of(const Start& start, std::uint64_t at) {
  const format::Head& head = start.head;
  const std::uint64_t end = at + head.units * kUnit;
  const bool has_any_length = struct_bytes(head.kind) == 0 && head.kind != Kind::kString;
  if (!has_any_length || end + kUnit > end_) return end;
  // Beyond the window, which holds what is read next.
  Start next{};
  image_.read(reinterpret_cast<std::byte*>(&next), sizeof next, end);
  if (is_zero(next.head) || is_plausible(next, end)) return end;
  for (std::uint64_t inside = at + kUnit; inside < end; inside += kUnit) {
    if (!is_plausible(start_at(inside), inside)) continue;
    damage_.note(at, "a record holds another one");
    return inside;
  }
  return end;
}

bool RecordWalk::look_again() {
  if (looked_again_) return false;
  looked_again_ = true;
  const std::uint64_t now = image_.size_now();
  if (now <= end_) return false;
  end_ = now;
  window_.forget();
  return true;
}

// While zeros are being skipped, a live program may write a head among them.
bool RecordWalk::skip_zeros() {
  if (!is_zero(start_at(at_).head)) return false;
  if (zeros_from_ == 0) zeros_from_ = at_;
  const auto bytes = window_.at(at_, kUnit);
  const std::uint64_t there = std::min<std::uint64_t>(bytes.size(), end_ - at_) / kUnit;
  std::uint64_t skipped = 0;
  for (; skipped < there; ++skipped) {
    format::Head head;
    std::memcpy(&head, bytes.data() + skipped * kUnit, sizeof head);
    if (!is_zero(head)) break;
  }
  at_ += std::max<std::uint64_t>(skipped, 1) * kUnit;
  return true;
}

void RecordWalk::skip_damage() {
  damage_.note(at_, "no record begins here");
  do {
    at_ += kUnit;
  } while (at_ + kUnit <= end_ && !is_plausible(start_at(at_), at_));
}

std::optional<Record> RecordWalk::next() {
  while (true) {
    if (at_ + kUnit > end_) {
      // The head of a record that is cut can be whole, or missing.
      if (image_.truncated() && cut_ == 0) cut_ = static_cast<format::Ref>(at_ / kUnit);
      if (image_.truncated() || !look_again()) return std::nullopt;
      continue;
    }
    if (skip_zeros()) continue;
    const Start start = start_at(at_);
    if (!is_plausible(start, at_)) {
      if (start.head.mark == format::kHeadMark && !image_.truncated() && look_again()) continue;
      if (zeros_from_ != 0 && at_ > rechecked_) {
        rechecked_ = at_;
        at_ = zeros_from_;
        zeros_from_ = 0;
        window_.forget();
        continue;
      }
      zeros_from_ = 0;
      skip_damage();
      continue;
    }
    zeros_from_ = 0;
    const std::uint64_t end = end_of(start, at_);
    Record record{static_cast<format::Ref>(at_ / kUnit), start.head.kind, end - at_};
    if (at_ + record.bytes > end_) {
      record.bytes = end_ - at_;
      record.is_cut = true;
      cut_ = record.ref;
    }
    at_ = end;
    return record;
  }
}

std::optional<std::string_view> RecordWalk::text(const Record& record) {
  const std::uint32_t length = read<format::String>(record).length;
  const std::uint64_t bytes = offsetof(format::String, bytes) + std::uint64_t{length};
  if (bytes > record.bytes) return std::nullopt;
  const auto there = window_.at(record.offset(), bytes);
  if (there.size() < bytes) return std::nullopt;
  return std::string_view(
      reinterpret_cast<const char*>(there.data()) + offsetof(format::String, bytes), length);
}

void RecordWalk::note_unresolved(std::string_view what, format::Ref ref, std::uint64_t bytes,
                                 std::uint64_t from) {
  const bool is_beyond = std::uint64_t{ref} * kUnit + bytes > end_ || (ref == cut_ && cut_ != 0);
  if (is_beyond || is_live_) {
    ++damage_.beyond_end;
    if (image_.truncated()) return;
  }
  std::string told;
  if (damage_.other == 0) {
    told = is_beyond ? fmt::format("{} {:#x} lies beyond the end", what, ref)
                     : fmt::format("there is no {} at {:#x}", what, ref);
  }
  damage_.note(from, std::move(told));
}

std::optional<Items> Items::of(const Record& record, std::uint32_t item_bytes, std::size_t least,
                               bool have_refs) {
  if (item_bytes < least || item_bytes % (have_refs ? kUnit : sizeof(std::uint64_t)) != 0) {
    return std::nullopt;
  }
  Items items;
  items.begin_ = record.offset() + format::kItemsOffset;
  items.item_bytes_ = item_bytes;
  if (record.bytes > format::kItemsOffset) {
    items.count_ = (record.bytes - format::kItemsOffset) / item_bytes;
  }
  return items;
}

std::optional<std::uint64_t> Items::place(format::Ref ref) const {
  const std::uint64_t offset = std::uint64_t{ref} * kUnit;
  if (offset < begin_ || (offset - begin_) % item_bytes_ != 0) return std::nullopt;
  const std::uint64_t at = (offset - begin_) / item_bytes_;
  return at < count_ ? std::optional(at) : std::nullopt;
}

}  // namespace fbleprof::profile
