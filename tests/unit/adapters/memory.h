// Memory that is laid out byte by byte, as the structures of an interpreter are, and memory that
// cannot be read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fbleprof::adapters {

// A structure of which only some fields matter; the others are 0.
class Raw {
 public:
  explicit Raw(std::size_t bytes = 256) : words_((bytes + 7) / 8) {}

  char* at(std::size_t offset = 0) { return reinterpret_cast<char*>(words_.data()) + offset; }
  std::uint64_t address() { return reinterpret_cast<std::uint64_t>(at()); }
  template <typename Value>
  Raw& put(std::size_t offset, Value value) {
    std::memcpy(at(offset), &value, sizeof value);
    return *this;
  }
  template <typename Value>
  Value get(std::size_t offset) {
    Value value;
    std::memcpy(&value, at(offset), sizeof value);
    return value;
  }

 private:
  std::vector<std::uint64_t> words_;
};

inline unsigned edges_made;  // what was known to be readable may have changed

// A page that can be read, before one that cannot, before one that can.
class Edge {
 public:
  Edge() {
    ++edges_made;
    pages_ = static_cast<char*>(
        mmap(nullptr, 3 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages_ + size_, size_, PROT_NONE);
  }
  ~Edge() { munmap(pages_, 3 * size_); }
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  char* unreadable() const { return pages_ + size_; }
  char* behind_unreadable() const { return pages_ + 2 * size_; }
  // The address from which only so many bytes can be read.
  char* last(std::size_t bytes) const { return pages_ + size_ - bytes; }
  // A copy of the first bytes of a structure, whose rest cannot be read.
  char* first_bytes_of(const char* structure, std::size_t bytes) const {
    return static_cast<char*>(std::memcpy(last(bytes), structure, bytes));
  }

 private:
  std::size_t size_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* pages_;
};

}  // namespace fbleprof::adapters
