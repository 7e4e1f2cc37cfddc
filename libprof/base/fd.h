// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace fbleprof {

// Owns a descriptor, or none: then each access fails. Any thread, one at a time.
class Fd {
 public:
  // Takes over what open() returned; below 0: none.
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // Access all bytes at a place of the file, or return false; errno tells why if the system
  // refused.
  bool read_at(std::uint64_t place, void* to, std::size_t bytes) const {
    return pread(fd_, to, bytes, static_cast<off_t>(place)) == static_cast<ssize_t>(bytes);
  }
  bool write_at(std::uint64_t place, const void* from, std::size_t bytes) const {
    return pwrite(fd_, from, bytes, static_cast<off_t>(place)) == static_cast<ssize_t>(bytes);
  }

 private:
  int fd_;
};

}  // namespace fbleprof
