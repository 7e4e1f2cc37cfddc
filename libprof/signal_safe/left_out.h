// The code that the user's filter leaves out of the tree (--only, --not).
//
// Each filtered module has a table of boundaries, which says from where to where its code is left
// out. Tables are only added, or taken over by another module, so asking needs no lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace fbleprof::signal_safe {

class LeftOut {
 public:
  // From `address` in the file on, up to the next boundary.
  struct Boundary {
    std::uint32_t address;
    std::uint32_t is_out;
  };
  // The boundaries of the module at [begin, end), in order. They stay valid.
  struct Table {
    std::uint64_t begin, end, load_bias;
    const Boundary* boundaries;
    std::uint32_t count;
    bool first_is_out;  // code before the first boundary
  };

  // One thread at a time. False: there are too many modules, and this one is not filtered.
  bool add(const Table& table);

  // The table that was added last for the module that begins there, or null.
  const Table* newest_at(std::uint64_t begin) const;

  // Any thread, handlers included.
  bool contains(std::uint64_t address) const;

 private:
  static constexpr std::uint32_t kMost = 1024;
  Table tables_[kMost] = {};
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace fbleprof::signal_safe
