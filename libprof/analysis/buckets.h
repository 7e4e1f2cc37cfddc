// Rows by key: for each key what a scan of all rows would find, in their order. Callers that ask
// about many keys look at each row once, not once for each key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace fbleprof::analysis {

class Buckets {
 public:
  Buckets() = default;
  // `key_of(row)` is called twice for each row. A row whose key is not below `keys` is left out.
  template <class KeyOf>
  Buckets(std::size_t keys, std::size_t rows, const KeyOf& key_of) : begin_(keys + 1) {
    for (std::size_t r = 0; r < rows; ++r) {
      if (const std::size_t key = key_of(r); key < keys) ++begin_[key + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    rows_.resize(begin_.back());
    std::vector<std::uint32_t> next = begin_;
    for (std::size_t r = 0; r < rows; ++r) {
      if (const std::size_t key = key_of(r); key < keys) {
        rows_[next[key]++] = static_cast<std::uint32_t>(r);
      }
    }
  }

  std::span<const std::uint32_t> operator[](std::size_t key) const {
    return std::span(rows_).subspan(begin_[key], begin_[key + 1] - begin_[key]);
  }

 private:
  std::vector<std::uint32_t> begin_, rows_;
};

}  // namespace fbleprof::analysis
