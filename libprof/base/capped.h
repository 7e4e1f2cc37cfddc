// Sums that stop at the largest number that 64 bits hold: such a figure is too low, but one that
// starts again at zero is nonsense.
#pragma once

#include <cstdint>

namespace fbleprof {

inline constexpr std::uint64_t kLargestCount = ~std::uint64_t{0};

constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return b > kLargestCount - a ? kLargestCount : a + b;
}

// The quotient to the nearest integer, half up: `a` + `b` / 2 may not fit. `b` is not 0.
constexpr std::uint64_t rounded_quotient(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b >= b - b / 2 ? 1 : 0);
}

}  // namespace fbleprof
