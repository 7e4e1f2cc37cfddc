// The functions of generated code in this profile that have no name, to which sources of names
// offer theirs at the end of the process.
//
// A sample of generated code is recorded in a stretch of 16 bytes, together with the moment when
// its bytes were first met (Function::map_bytes). A source offers ranges of addresses. A range that
// holds the stretch's first byte is better than one that begins in it, and one that was there
// before the moment is better than one that came later: a runtime that writes its map late has
// written only those.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::capture {

class GeneratedFunctions {
 public:
  struct Item {
    std::uint64_t stretch = 0, moment = 0;
    format::Ref record = 0;
    std::uint8_t rank = 0;  // of the best offer so far; 0: none
    // The best offer: a range of addresses, and the place of its name in its source.
    std::uint64_t begin = 0, bytes = 0, name_at = 0;
    std::uint32_t name_bytes = 0;
    std::uint32_t line = 0;  // 0: unknown
    std::uint64_t file_at = 0;
  };

  // Collects them. Async-signal-safe; other threads may still add some, which stay nameless.
  GeneratedFunctions();
  ~GeneratedFunctions();
  GeneratedFunctions(const GeneratedFunctions&) = delete;
  GeneratedFunctions& operator=(const GeneratedFunctions&) = delete;

  bool is_empty() const { return count_ == 0; }

  // From now on, moments are times on CLOCK_MONOTONIC (ns).
  void count_moments_in_time();

  // Whether one of them is in [begin, begin + bytes).
  bool has_any_in(std::uint64_t begin, std::uint64_t bytes) const;

  // Offers the code in [begin, begin + bytes), which was there at `moment`: a place in the perf
  // map, or a time; kAlways for a source that does not tell.
  void offer(std::uint64_t begin, std::uint64_t bytes, std::uint64_t moment, std::uint64_t name_at,
             std::uint32_t name_bytes) {
    Item offered;
    offered.begin = begin;
    offered.bytes = bytes;
    offered.moment = moment;
    offered.name_at = name_at;
    offered.name_bytes = name_bytes;
    offer(offered);
  }
  // The same, of a source that may also tell the line.
  void offer(const Item& offered);
  static constexpr std::uint64_t kAlways = UINT64_MAX;

  // Takes the names of all functions that got offers from read(at, buffer, bytes), which returns
  // the number of bytes that it could read. Functions without an offer wait for the next source.
  template <typename Read>
  void take_names(Read read) {
    char name[kMostNameBytes];
    for (std::uint32_t i = 0; i < count_; ++i) {
      Item& item = items_[i];
      if (item.rank == 0 || item.rank == kNamed) continue;
      const std::uint32_t bytes =
          item.name_bytes < kMostNameBytes ? item.name_bytes : kMostNameBytes;
      const std::uint32_t got = read(item.name_at, name, bytes);
      if (got != 0) name_function(item, name, got);
      item.rank = got != 0 ? kNamed : 0;
      const std::uint32_t of_file =
          got != 0 && item.line != 0 ? read(item.file_at, name, kMostNameBytes) : 0;
      if (of_file != 0) note_line(item, name, of_file);
    }
  }

 private:
  static constexpr std::uint32_t kMostNameBytes = 1024;
  static constexpr std::uint8_t kNamed = 255;
  Item* first_in(std::uint64_t begin) const;
  void name_function(const Item& item, const char* name, std::uint32_t bytes);
  void note_line(const Item& item, const char* file, std::uint32_t bytes);

  Item* items_ = nullptr;  // sorted by stretch
  std::uint32_t count_ = 0, room_ = 0;
};

}  // namespace fbleprof::capture
