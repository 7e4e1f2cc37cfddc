// Sums that stay at the largest number where 64 bits do not hold them: a figure that is too low by
// what did not fit is wrong, one that begins at zero again is nonsense.
#pragma once

#include <cstdint>

namespace fbleprof {

inline constexpr std::uint64_t kLargestCount = ~std::uint64_t{0};

constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return b > kLargestCount - a ? kLargestCount : a + b;
}

// The quotient to the nearest, half up: `a` + `b` / 2 may not fit. `b` is not 0.
constexpr std::uint64_t rounded_quotient(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b >= b - b / 2 ? 1 : 0);
}

}  // namespace fbleprof
