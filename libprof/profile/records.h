// Reads the records of a file, one after the other.
//
// A head in a file is not trusted until checked. It is accepted if it has its mark, and a length
// that is possible for its kind and fits into the file; otherwise the next such head is searched
// for, so that damage costs only the records it hit. Everything is read once, in the order of the
// file, and records cannot overlap: all work is bounded by the file's size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "profile/file_image.h"

namespace fbleprof::profile {

// "string", "module", ...; "record" for a kind that this version does not know.
std::string_view kind_name(format::Kind kind);
bool is_known(format::Kind kind);
// Whether the record holds items from kItemsOffset on.
bool has_items(format::Kind kind);

// The defects of a file, counted, with the first of them.
struct Damage {
  std::uint64_t beyond_end = 0;  // Refs to missing records
  std::uint64_t other = 0;
  std::optional<std::uint64_t> first_offset;  // of the first of `other`
  std::string first_what;

  bool any() const { return beyond_end + other != 0; }
  void note(std::uint64_t offset, std::string what);
};

struct Record {
  format::Ref ref = 0;
  format::Kind kind{};
  std::uint64_t bytes = 0;  // of it that exist
  bool is_cut = false;      // the file ends inside it

  std::uint64_t offset() const { return std::uint64_t{ref} * format::kUnitBytes; }
};

class RecordWalk {
 public:
  RecordWalk(const FileImage& image, Damage& damage);

  // The next record of any kind. In a live file, reads up to the file's size at the time its end
  // was reached.
  std::optional<Record> next();

  // The record as a struct; fields beyond the record's end are 0.
  template <class Struct>
  Struct read(const Record& record) {
    Struct out{};
    const auto bytes = window_.at(record.offset(), std::min<std::size_t>(sizeof out, record.bytes));
    std::memcpy(&out, bytes.data(),
                std::min({sizeof out, bytes.size(), static_cast<std::size_t>(record.bytes)}));
    return out;
  }
  // The bytes of a String, valid until the next call of any of these. None if the string is longer
  // than its record.
  std::optional<std::string_view> text(const Record& record);

  // Reports a Ref in the record at byte `from` that leads to nothing of the expected kind. This is
  // damage, unless the target lies in the missing part of a truncated file, or was not yet written
  // in a live one.
  void note_unresolved(std::string_view what, format::Ref ref, std::uint64_t bytes,
                       std::uint64_t from);
  void set_live() { is_live_ = true; }
  bool is_live() const { return is_live_; }
  // The window that the walk reads through; moving it in between only costs time.
  FileWindow& window() { return window_; }
  // The end of what was read.
  std::uint64_t end() const { return end_; }

 private:
  // What tells whether a record begins at some place.
  struct Start {
    format::Head head;
    std::uint32_t length;  // of a String
  };
  bool is_plausible(const Start& start, std::uint64_t at) const;
  // The end of the record at `at`: as its head says, unless that is impossible.
  std::uint64_t end_of(const Start& start, std::uint64_t at);
  Start start_at(std::uint64_t at);
  bool look_again();
  bool skip_zeros();
  void skip_damage();

  const FileImage& image_;
  Damage& damage_;
  FileWindow window_;
  std::uint64_t at_ = format::kHeaderBytes;
  std::uint64_t end_;
  std::uint64_t zeros_from_ = 0;  // where the zeros before `at_` begin; 0: there are none
  std::uint64_t rechecked_ = 0;   // zeros before this were read twice
  bool looked_again_ = false;
  bool is_live_ = false;
  format::Ref cut_ = 0;  // the record that the file ends in
};

// The items of a Nodes, Edges, Values or Snapshot... record, with their positions.
class Items {
 public:
  // `item_bytes` as the record says; `least`: the smallest item of this version. None if the size
  // is impossible.
  static std::optional<Items> of(const Record& record, std::uint32_t item_bytes, std::size_t least,
                                 bool have_refs);

  std::uint64_t count() const { return count_; }
  std::uint32_t item_bytes() const { return item_bytes_; }
  std::uint64_t begin() const { return begin_; }
  format::Ref ref(std::uint64_t i) const {
    return static_cast<format::Ref>((begin_ + i * item_bytes_) / format::kUnitBytes);
  }
  void limit(std::uint64_t count) { count_ = std::min(count_, count); }
  // The item that begins at `ref`, if there is one.
  std::optional<std::uint64_t> place(format::Ref ref) const;

  // Calls `visit(first, count, bytes)` for runs of items, as many as the window holds at a time.
  template <class Visit>
  void each_run(FileWindow& window, Visit visit) const {
    for (std::uint64_t i = 0; i < count_;) {
      const auto bytes = window.at(begin_ + i * item_bytes_, item_bytes_);
      const std::uint64_t there = std::min<std::uint64_t>(count_ - i, bytes.size() / item_bytes_);
      if (there == 0) return;  // the file became shorter
      visit(i, there, bytes.data());
      i += there;
    }
  }
  // Calls `visit(i, bytes)` for each item, `bytes` being its first.
  template <class Visit>
  void each(FileWindow& window, Visit visit) const {
    each_run(window, [&](std::uint64_t first, std::uint64_t count, const std::byte* bytes) {
      for (std::uint64_t k = 0; k < count; ++k) visit(first + k, bytes + k * item_bytes_);
    });
  }

 private:
  std::uint64_t begin_ = 0, count_ = 0;
  std::uint32_t item_bytes_ = 0;
};

}  // namespace fbleprof::profile
