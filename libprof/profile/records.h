// The records of a file, one after the other.
//
// A head in a file is anything until proven otherwise. One that says what it is (its mark), of a
// length that its kind can have and that the file has room for, is taken; else the next such head
// is searched for, so that damage costs the records it hit and no others. Everything is read once,
// in the order of the file, and records cannot overlap: all work is bounded by the file's size.
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

// What was wrong with a file, counted; the first of them told.
struct Damage {
  std::uint64_t beyond_end = 0;  // Refs to what is not there, or not there yet
  std::uint64_t other = 0;
  std::optional<std::uint64_t> first_offset;  // of the first of `other`
  std::string first_what;

  bool any() const { return beyond_end + other != 0; }
  void note(std::uint64_t offset, std::string what);
};

struct Record {
  format::Ref ref = 0;
  format::Kind kind{};
  std::uint64_t bytes = 0;  // of it that are there
  bool is_cut = false;      // the file ends inside it

  std::uint64_t offset() const { return std::uint64_t{ref} * format::kUnitBytes; }
};

class RecordWalk {
 public:
  RecordWalk(const FileImage& image, Damage& damage);

  // The next record of whatever kind. A live file is followed as far as it had grown when its end
  // was reached.
  std::optional<Record> next();

  // The record as a struct; what it is too short for is 0.
  template <class Struct>
  Struct read(const Record& record) {
    Struct out{};
    const auto bytes = window_.at(record.offset(), std::min<std::size_t>(sizeof out, record.bytes));
    std::memcpy(&out, bytes.data(),
                std::min({sizeof out, bytes.size(), static_cast<std::size_t>(record.bytes)}));
    return out;
  }
  // The bytes of a String, until the next call of any of these. None if it is longer than its
  // record.
  std::optional<std::string_view> text(const Record& record);

  // A Ref in the record at byte `from` that leads to nothing of the kind it should. That is damage,
  // unless it is of the part that a truncated file lacks, or that a live one did not have yet.
  void note_unresolved(std::string_view what, format::Ref ref, std::uint64_t bytes,
                       std::uint64_t from);
  void set_live() { is_live_ = true; }
  bool is_live() const { return is_live_; }
  // The window that the walk reads by: moving it in between only costs time.
  FileWindow& window() { return window_; }
  // Up to where the file was read.
  std::uint64_t end() const { return end_; }

 private:
  // What tells whether a record begins somewhere.
  struct Start {
    format::Head head;
    std::uint32_t length;  // of a String
  };
  bool is_plausible(const Start& start, std::uint64_t at) const;
  // The end of the record at `at`: where its head says, unless that cannot be.
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

// The items of a Nodes, Edges, Values or Snapshot... record, with their places.
class Items {
 public:
  // `item_bytes` as the record says; `least`: what an item of this version has at the least. None
  // if that cannot be.
  static std::optional<Items> of(const Record& record, std::uint32_t item_bytes, std::size_t least,
                                 bool have_refs);

  std::uint64_t count() const { return count_; }
  std::uint32_t item_bytes() const { return item_bytes_; }
  std::uint64_t begin() const { return begin_; }
  format::Ref ref(std::uint64_t i) const {
    return static_cast<format::Ref>((begin_ + i * item_bytes_) / format::kUnitBytes);
  }
  void limit(std::uint64_t count) { count_ = std::min(count_, count); }
  // The item that begins at `ref`, if one does.
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
