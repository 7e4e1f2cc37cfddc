#include "signal_safe/poisson.h"

namespace fbleprof::signal_safe {

namespace {

// Numbers with 32 binary places.
constexpr int kPlaces = 32;
constexpr std::uint64_t kOne = std::uint64_t{1} << kPlaces;
constexpr std::uint64_t kLn2 = 0xb17217f7;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b >> kPlaces);
}

// log2(x) for 1 <= x < 2: squaring x doubles its logarithm, so each square gives one bit.
std::uint64_t log2_of(std::uint64_t x) {
  std::uint64_t result = 0;
  for (int place = kPlaces - 1; place >= kPlaces - 24; --place) {
    x = times(x, x);
    if (x >= 2 * kOne) {
      x >>= 1;
      result |= std::uint64_t{1} << place;
    }
  }
  return result;
}

// e^-x. Halved until the series is exact enough, then squared as often.
std::uint64_t exp_minus(std::uint64_t x) {
  if (x >= 22 * kOne) return 0;
  constexpr int kHalvings = 8;
  const std::uint64_t y = x >> kHalvings;  // < 0.09
  std::uint64_t result = kOne - times(y, kOne - times(y, kOne - times(y, kOne - y / 4) / 3) / 2);
  for (int i = 0; i < kHalvings; ++i) result = times(result, result);
  return result;
}

// x / (1 - e^-x), which is 1 at 0.
std::uint64_t scale(std::uint64_t x) {
  if (x >= kOne) return times(x, (kOne << 31) / ((kOne - exp_minus(x)) >> 1));
  const std::uint64_t x2 = times(x, x);
  // 1 + x/2 + x^2/12 - x^4/720 + x^6/30240
  return kOne + x / 2 + x2 / 12 - times(x2, x2) / 720 + times(times(x2, x2), x2) / 30240;
}

}  // namespace

std::uint64_t draw_distance(std::uint64_t* random, std::uint64_t period) {
  // -log2(u) for u in (0, 1]: whole places from the leading zeros, the rest from what follows.
  const std::uint64_t bits = next_random(random) | 1;
  const int zeros = __builtin_clzll(bits);
  const std::uint64_t mantissa = (bits << zeros) >> (63 - kPlaces);  // 1 <= m < 2
  const std::uint64_t negative_log2 =
      (static_cast<std::uint64_t>(zeros) + 1) * kOne - log2_of(mantissa);
  return times(times(negative_log2, kLn2), period) + 1;
}

Weight weight_of(std::uint64_t bytes, std::uint64_t period, std::uint64_t* random) {
  if (bytes == 0) bytes = 1;
  constexpr std::uint64_t kCertain = 40;  // this many periods are always sampled
  if (bytes >= kCertain * period) return {1, bytes};
  // bytes < 40 * period: the quotient has at most six binary digits before the point.
  std::uint64_t x = bytes / period * kOne;
  // The remainder is below the period, which may itself need more than 32 bits.
  std::uint64_t rest = bytes % period, unit = period;
  while (rest >= kOne) {
    rest >>= 1;
    unit >>= 1;
  }
  x += unit != 0 ? (rest << kPlaces) / unit : 0;
  const std::uint64_t scaled = times(scale(x), period);
  return {(scaled + next_random(random) % bytes) / bytes, scaled > bytes ? scaled : bytes};
}

}  // namespace fbleprof::signal_safe
