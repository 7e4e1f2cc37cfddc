// The first rows of a long table, without sorting the rest of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace fbleprof::report {

// The first `shown` of `rows` in the order of `less`; rows of equal rank keep their order.
template <class Row, class Less>
std::vector<Row> top_rows(const std::vector<Row>& rows, std::size_t shown, Less less) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  shown = std::min(shown, rows.size());
  const auto comes_first = [&](std::uint32_t a, std::uint32_t b) {
    if (less(rows[a], rows[b])) return true;
    return !less(rows[b], rows[a]) && a < b;
  };
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(shown);
  // A heap is faster than sorting only for a few rows.
  if (shown < rows.size() / 16) {
    std::partial_sort(order.begin(), end, order.end(), comes_first);
  } else {
    std::sort(order.begin(), order.end(), comes_first);
  }
  std::vector<Row> top;
  top.reserve(shown);
  for (auto it = order.begin(); it != end; ++it) top.push_back(rows[*it]);
  return top;
}

}  // namespace fbleprof::report
