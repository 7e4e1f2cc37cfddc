// Samples allocations so that each byte has the same chance, as tcmalloc and Go do.
//
// The distance from one sampled byte to the next is drawn from an exponential distribution. A block
// of s bytes is sampled if it holds such a byte, with the probability 1 - e^(-s/period), so it
// stands for 1 / (1 - e^(-s/period)) blocks of its size. The expected sums are the true sums, for
// all sizes.
//
// Integers only: this code may not touch a vector register. Any context.
#pragma once

#include <cstdint>

namespace fbleprof::signal_safe {

// The next number of a random sequence; never leaves the state 0.
inline std::uint64_t next_random(std::uint64_t* state) {
  std::uint64_t s = *state;
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  return *state = s;
}

// Bytes to the next sampled byte: at least 1, `period` on average.
std::uint64_t draw_distance(std::uint64_t* random, std::uint64_t period);

// The amount that a sampled block stands for. Counts are rounded at random, so that sums are right.
struct Weight {
  std::uint64_t count, bytes;
};
Weight weight_of(std::uint64_t bytes, std::uint64_t period, std::uint64_t* random);

}  // namespace fbleprof::signal_safe
