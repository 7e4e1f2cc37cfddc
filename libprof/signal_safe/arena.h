// The arena: the mapped file, and the only way to get space in it.
//
// Allocation moves `used_bytes` up. Each piece is a record and gets its head at once, so a reader
// can step over unfinished ones. Memory is populated before it is first touched: that reports a
// full disk or an exceeded limit as an error, where touching the memory would raise SIGBUS in the
// program. Nothing is ever freed.
//
// All functions: any thread, hooks and handlers included; no lock, bounded.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

class Arena {
 public:
  // Takes over a mapping of cap_bytes whose header is written and whose first populated_bytes may
  // be touched. Not thread-safe; call it before anything else uses the arena.
  void adopt(char* base, std::uint64_t cap_bytes, std::uint64_t populated_bytes);

  // From here on there is no file. Returns where it is, only to the first of several callers.
  char* give_up() { return __atomic_exchange_n(&base_, nullptr, __ATOMIC_RELAXED); }

  // Zeroed space for a record of `bytes`, rounded up to units, with an unfinished head; 0 if there
  // is no space. `reserve_bytes` stay free for callers with a smaller reserve.
  format::Ref allocate(std::uint64_t bytes, std::uint64_t reserve_bytes = 0);
  // The same for a record of items, which starts at a multiple of kItemsOffset.
  format::Ref allocate_items(std::uint64_t bytes, std::uint64_t reserve_bytes);

  // Makes a record visible to readers, as one of `kind`, with everything written to it before.
  void publish(format::Ref ref, format::Kind kind) {
    __atomic_store_n(&at<format::Head>(ref)->kind, kind, __ATOMIC_RELEASE);
  }

  // Populates `bytes` more, or as many as the system gives.
  void reserve(std::uint64_t bytes);

  // Limits the arena to its populated part, which no thread enlarges any more when this returns:
  // the file is about to end there, or the program is about to forbid itself system calls.
  void freeze() { populated_.fetch_or(kFrozen, std::memory_order_seq_cst); }
  // The same, and gives up the populated part beyond the used part, except some pages. Returns
  // where the file may end. Only while no other thread can allocate.
  std::uint64_t freeze_short();
  void thaw() { populated_.fetch_and(~kFrozen, std::memory_order_release); }

  template <typename Record>
  static Record* record_in(char* base, format::Ref ref) {
    return reinterpret_cast<Record*>(base + std::uint64_t{ref} * format::kUnitBytes);
  }
  template <typename Record>
  Record* at(format::Ref ref) const {
    return record_in<Record>(base_, ref);
  }
  format::Ref ref_of(const void* record) const {
    return static_cast<format::Ref>((static_cast<const char*>(record) - base_) /
                                    format::kUnitBytes);
  }
  format::Header* header() const { return reinterpret_cast<format::Header*>(base_); }
  std::uint64_t populated_bytes() const {
    return populated_.load(std::memory_order_relaxed) & ~kFrozen;
  }
  std::uint64_t used_bytes() const {
    return __atomic_load_n(&header()->used_bytes, __ATOMIC_RELAXED);
  }
  char* base() const { return base_; }
  std::uint64_t cap_bytes() const { return cap_bytes_; }

  // Writes a string record; 0 if there is no space.
  format::Ref add_string(const char* bytes, std::uint32_t length);

  // Calls visit(ref) for each finished record of `kind`, oldest first, until it returns false.
  template <typename Visit>
  void for_each(format::Kind kind, Visit visit) const {
    const auto end = static_cast<format::Ref>(used_bytes() / format::kUnitBytes);
    for (format::Ref ref = format::kHeaderBytes / format::kUnitBytes; ref < end;) {
      const auto* head = at<format::Head>(ref);
      // While a thread is about to write a record's head, the record is zeros, and then the thread
      // may fill it: what follows a place without a head need not be one.
      const std::uint32_t units = head->mark == format::kHeadMark ? head->units : 0;
      if (units != 0 && __atomic_load_n(&head->kind, __ATOMIC_ACQUIRE) == kind && !visit(ref)) {
        return;
      }
      ref += units != 0 ? units : 1;
    }
  }

 private:
  enum class Steps { kMore, kNone };  // whether to populate more than is asked for
  bool populate_to(std::uint64_t end, Steps steps = Steps::kMore);
  format::Ref take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t reserve_bytes);

  char* base_ = nullptr;
  std::uint64_t cap_bytes_ = 0;
  // In one word with the bytes, so that a thread that is populating more cannot miss it.
  static constexpr std::uint64_t kFrozen = 1;
  std::atomic<std::uint64_t> populated_{0};
};

}  // namespace fbleprof::signal_safe
