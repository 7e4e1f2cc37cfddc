// A column of 64-bit counts that takes four bytes each where they are small.
//
// Of a million contexts a handful hold more than 2^32 ns or calls. The lower halves stand in one
// array; the upper ones in blocks, of which only those exist in which one is not zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/capped.h"

namespace fbleprof::profile {

class Counts {
 public:
  Counts() = default;
  explicit Counts(std::size_t size) : low_(size) {}

  std::size_t size() const { return low_.size(); }
  bool empty() const { return low_.empty(); }

  std::uint64_t operator[](std::size_t i) const {
    if (high_.empty()) return low_[i];
    return high_of(i) << 32 | low_[i];
  }

  void reserve(std::size_t size) { low_.reserve(size); }
  // New ones are zero.
  void resize(std::size_t size) {
    // What stood beyond the new end must not come back.
    for (std::size_t i = size; !high_.empty() && i < low_.size(); ++i) set(i, 0);
    low_.resize(size);
    if (!high_.empty()) high_.resize(blocks(size));
  }
  void push_back(std::uint64_t value) {
    low_.push_back(static_cast<std::uint32_t>(value));
    if (!high_.empty()) high_.resize(blocks(low_.size()));
    if (value >> 32 != 0) set_high(low_.size() - 1, static_cast<std::uint32_t>(value >> 32));
  }
  void set(std::size_t i, std::uint64_t value) {
    low_[i] = static_cast<std::uint32_t>(value);
    if (value >> 32 != 0 || (!high_.empty() && !high_[i / kBlock].empty())) {
      set_high(i, static_cast<std::uint32_t>(value >> 32));
    }
  }
  // Adds up to 2^64 - 1 and no further.
  void add(std::size_t i, std::uint64_t value) {
    if (value != 0) set(i, capped_sum((*this)[i], value));
  }

  // All of them as they are worked with.
  std::vector<std::uint64_t> wide() const {
    std::vector<std::uint64_t> values(low_.begin(), low_.end());
    for (std::size_t b = 0; b < high_.size(); ++b) {
      for (std::size_t i = 0; i < high_[b].size() && b * kBlock + i < values.size(); ++i) {
        values[b * kBlock + i] |= std::uint64_t{high_[b][i]} << 32;
      }
    }
    return values;
  }

 private:
  static constexpr std::size_t kBlock = 1024;
  static std::size_t blocks(std::size_t size) { return (size + kBlock - 1) / kBlock; }

  std::uint64_t high_of(std::size_t i) const {
    const std::vector<std::uint32_t>& block = high_[i / kBlock];
    return block.empty() ? 0 : block[i % kBlock];
  }
  void set_high(std::size_t i, std::uint32_t half) {
    if (high_.empty()) high_.resize(blocks(low_.size()));
    std::vector<std::uint32_t>& block = high_[i / kBlock];
    if (block.empty()) block.resize(kBlock);
    block[i % kBlock] = half;
  }

  std::vector<std::uint32_t> low_;
  std::vector<std::vector<std::uint32_t>> high_;  // by block; none at all, or one each
};

}  // namespace fbleprof::profile
