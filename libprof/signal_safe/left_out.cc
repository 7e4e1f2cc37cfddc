#include "signal_safe/left_out.h"

namespace fbleprof::signal_safe {

namespace {

bool is_out(const LeftOut::Table& table, std::uint64_t address) {
  const std::uint64_t in_file = address - table.load_bias;
  std::uint32_t low = 0, high = table.count;  // boundaries before `low` are not above the address
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (table.boundaries[middle].address <= in_file) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? table.first_is_out : table.boundaries[low - 1].is_out != 0;
}

}  // namespace

bool LeftOut::add(const Table& table) {
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  if (count == kMost) return false;
  tables_[count] = table;
  count_.store(count + 1, std::memory_order_release);
  return true;
}

const LeftOut::Table* LeftOut::newest_at(std::uint64_t begin) const {
  for (std::uint32_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
    if (tables_[i].begin == begin) return &tables_[i];
  }
  return nullptr;
}

bool LeftOut::contains(std::uint64_t address) const {
  // Newest first: a module may have been loaded where another one was.
  for (std::uint32_t i = count_.load(std::memory_order_acquire); i-- > 0;) {
    const Table& table = tables_[i];
    if (address >= table.begin && address < table.end) return is_out(table, address);
  }
  return false;
}

}  // namespace fbleprof::signal_safe
