// A column of 64-bit counts that needs little memory where they are small or zero.
//
// Of a million contexts only a few hold more than 2^32 ns or calls, and few were ever sampled. So
// the lower and the upper halves are in two sparse arrays: chunks of 64, which exist only if they
// hold a number that is not zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/capped.h"

namespace fbleprof::profile {

// 32-bit numbers, 0 unless they were set.
class SparseNumbers {
 public:
  static constexpr std::size_t kChunk = 64;

  void resize(std::size_t size) { where_.resize((size + kChunk - 1) / kChunk); }
  // Reserves room for `size` numbers, none of which is 0.
  void reserve(std::size_t size) { numbers_.reserve(size + 2 * kChunk); }

  std::uint32_t operator[](std::size_t i) const {
    return numbers_[where_[i / kChunk] + i % kChunk];
  }

  // Makes the chunk that holds `i`.
  void open(std::size_t i) {
    std::uint32_t& where = where_[i / kChunk];
    if (where != 0) return;
    where = static_cast<std::uint32_t>(numbers_.size());
    numbers_.resize(numbers_.size() + kChunk);
  }
  void set(std::size_t i, std::uint32_t number) {
    if (where_[i / kChunk] == 0) {
      if (number == 0) return;
      open(i);
    }
    numbers_[where_[i / kChunk] + i % kChunk] = number;
  }

  // Calls `visit(begin, numbers)` for each chunk that exists: its numbers start at index `begin`.
  template <class Visit>
  void each_chunk(Visit visit) const {
    for (std::size_t b = 0; b < where_.size(); ++b) {
      if (where_[b] != 0) visit(b * kChunk, &numbers_[where_[b]]);
    }
  }

 private:
  std::vector<std::uint32_t> where_;  // by chunk: its first number; 0: it is all zero
  std::vector<std::uint32_t> numbers_ = std::vector<std::uint32_t>(kChunk);  // zeros come first
};

class Counts {
 public:
  Counts() = default;
  explicit Counts(std::size_t size) { resize(size); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  std::uint64_t operator[](std::size_t i) const {
    const std::uint64_t low = low_[i];
    return has_high_ ? std::uint64_t{high_[i]} << 32 | low : low;
  }

  void reserve(std::size_t size) { low_.reserve(size); }
  // New ones are zero.
  void resize(std::size_t size) {
    // Numbers beyond the new end must not reappear.
    for (std::size_t i = size; i < size_; ++i) set(i, 0);
    size_ = size;
    low_.resize(size);
    if (has_high_) high_.resize(size);
  }
  void push_back(std::uint64_t value) {
    if (size_ % SparseNumbers::kChunk == 0) {
      low_.resize(size_ + 1);
      if (has_high_) high_.resize(size_ + 1);
    }
    set(size_++, value);
  }
  void set(std::size_t i, std::uint64_t value) {
    low_.set(i, static_cast<std::uint32_t>(value));
    const auto upper = static_cast<std::uint32_t>(value >> 32);
    if (upper != 0 && !has_high_) {
      high_.resize(std::max(size_, i + 1));
      has_high_ = true;
    }
    if (!has_high_) return;
    if (upper != 0) low_.open(i);
    high_.set(i, upper);
  }
  // Adds up to 2^64 - 1 and no further.
  void add(std::size_t i, std::uint64_t value) {
    if (value != 0) set(i, capped_sum((*this)[i], value));
  }
  // Adds a number in two's complement to another.
  void add_signed(std::size_t i, std::uint64_t value) {
    if (value != 0) set(i, (*this)[i] + value);
  }

  // Calls `visit(i, value)` for each value that is not 0, in order.
  template <class Visit>
  void each(Visit visit) const {
    low_.each_chunk([&](std::size_t begin, const std::uint32_t*) {
      const std::size_t end = std::min(begin + SparseNumbers::kChunk, size_);
      for (std::size_t i = begin; i < end; ++i) {
        if (const std::uint64_t value = (*this)[i]; value != 0) visit(i, value);
      }
    });
  }

  // All counts as a plain array, for computing.
  std::vector<std::uint64_t> wide() const {
    std::vector<std::uint64_t> values(size_);
    const auto put = [&](const SparseNumbers& numbers, int shift) {
      numbers.each_chunk([&](std::size_t begin, const std::uint32_t* chunk) {
        const std::size_t count = std::min(SparseNumbers::kChunk, size_ - std::min(begin, size_));
        for (std::size_t i = 0; i < count; ++i) {
          values[begin + i] |= std::uint64_t{chunk[i]} << shift;
        }
      });
    };
    put(low_, 0);
    if (has_high_) put(high_, 32);
    return values;
  }

 private:
  std::size_t size_ = 0;
  bool has_high_ = false;
  // A chunk of `high_` exists only where a chunk of `low_` does.
  SparseNumbers low_, high_;
};

}  // namespace fbleprof::profile
