// The arena: the mapped file, and the one way to get space in it.
//
// Space is handed out by moving `used_bytes` up. Before memory is first touched it is populated
// (MADV_POPULATE_WRITE), which reports a full disk or a lost limit as an error where touching it
// would be SIGBUS in somebody's program. Nothing is ever given back.
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
  // be touched. Not thread safe: before anything else uses the arena.
  void adopt(char* base, std::uint64_t cap_bytes, std::uint64_t populated_bytes);

  // Zeroed space for `bytes` (a multiple of kUnitBytes), or 0 when there is no more.
  // `reserve_bytes` are left for those who ask with a smaller reserve.
  format::Ref allocate(std::uint64_t bytes, std::uint64_t reserve_bytes);

  // Makes `bytes` more touchable without asking again; as many as can be had.
  void reserve(std::uint64_t bytes);

  // No space beyond what is populated now: the file is about to end there, or the program is about
  // to forbid system calls.
  void freeze() { frozen_.store(true, std::memory_order_relaxed); }
  void thaw() { frozen_.store(false, std::memory_order_relaxed); }

  template <typename Record>
  Record* at(format::Ref ref) const {
    return reinterpret_cast<Record*>(base_ + std::uint64_t{ref} * format::kUnitBytes);
  }
  format::Ref ref_of(const void* record) const {
    return static_cast<format::Ref>((static_cast<const char*>(record) - base_) /
                                    format::kUnitBytes);
  }
  format::Header* header() const { return reinterpret_cast<format::Header*>(base_); }
  std::uint64_t populated_bytes() const { return populated_.load(std::memory_order_relaxed); }
  char* base() const { return base_; }
  std::uint64_t cap_bytes() const { return cap_bytes_; }

  // Writes a string record; 0 when there is no space.
  format::Ref add_string(const char* bytes, std::uint32_t length);

 private:
  bool populate_to(std::uint64_t end);

  char* base_ = nullptr;
  std::uint64_t cap_bytes_ = 0;
  std::atomic<std::uint64_t> populated_{0};
  std::atomic<bool> frozen_{false};
};

// Puts a record that `next` belongs to at the head of a list. Release: the record is complete
// before it can be seen.
inline void push_front(format::Ref* head, format::Ref* next, format::Ref record) {
  format::Ref old = __atomic_load_n(head, __ATOMIC_RELAXED);
  do {
    *next = old;
  } while (
      !__atomic_compare_exchange_n(head, &old, record, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

}  // namespace fbleprof::signal_safe
