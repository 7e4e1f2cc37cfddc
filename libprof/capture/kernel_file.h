// File access by system call. The program may replace libc's functions (a sanitizer's are not ready
// when our constructor runs); these also are cancellation points and change errno.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "arch/kernel.h"
#include "signal_safe/pages.h"

namespace fbleprof::capture {

// Returns the kernel's result; below 0, it is -errno.
inline long kernel_path_call(long number, const char* path, long a = 0, long b = 0) {
  return arch::kernel_call(number, reinterpret_cast<long>(path), a, b);
}

// access(2): `mode` is of F_OK, R_OK, W_OK and X_OK.
inline bool can_access(const char* path, int mode) {
  return kernel_path_call(SYS_access, path, mode) == 0;
}

// An open descriptor, closed by the destructor.
class File {
 public:
  File() = default;
  File(const char* path, int flags, int mode = 0)
      : fd_(kernel_path_call(SYS_open, path, flags | O_CLOEXEC, mode)) {}
  ~File() { close(); }
  File(File&& other) : fd_(other.fd_) { other.fd_ = -1; }
  File& operator=(File&& other) {
    close();
    fd_ = other.fd_;
    other.fd_ = -1;
    return *this;
  }
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return static_cast<int>(fd_); }
  int error() const { return fd_ < 0 ? static_cast<int>(-fd_) : 0; }

  bool read_status(struct stat* status) const {
    return arch::kernel_call(SYS_fstat, fd_, reinterpret_cast<long>(status)) == 0;
  }
  // Returns the number of bytes, or below 0.
  long read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
    return arch::kernel_call(SYS_pread64, fd_, reinterpret_cast<long>(to), static_cast<long>(bytes),
                             static_cast<long>(offset));
  }
  bool write(std::uint64_t offset, const void* from, std::uint64_t bytes) const {
    const char* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const long wrote = arch::kernel_call(SYS_pwrite64, fd_, reinterpret_cast<long>(at),
                                           static_cast<long>(bytes), static_cast<long>(offset));
      if (wrote <= 0) return false;
      at += wrote;
      offset += static_cast<std::uint64_t>(wrote);
      bytes -= static_cast<std::uint64_t>(wrote);
    }
    return true;
  }
  bool set_length(std::uint64_t bytes) const {
    return arch::kernel_call(SYS_ftruncate, fd_, static_cast<long>(bytes)) == 0;
  }
  // Maps `bytes` from `offset` on, shared and writable; at `place`, if it is not null.
  char* map(std::uint64_t offset, std::uint64_t bytes, void* place = nullptr) const {
    const int flags = MAP_SHARED | MAP_NORESERVE | (place ? MAP_FIXED : 0);
    const long at = signal_safe::map_unlocked(reinterpret_cast<std::uint64_t>(place), bytes, flags,
                                              fd(), offset);
    return arch::kernel_failed(at) ? nullptr : reinterpret_cast<char*>(at);
  }

 private:
  void close() {
    if (fd_ >= 0) arch::kernel_call(SYS_close, fd_);
  }
  long fd_ = -1;
};

// Reads the beginning of a file without a length (/proc) as a string; returns the string's length.
inline std::uint64_t read_text(const char* path, char* buffer, std::uint64_t capacity) {
  const File file(path, O_RDONLY);
  const long got = file ? file.read(0, buffer, capacity - 1) : 0;
  buffer[got > 0 ? got : 0] = 0;
  return got > 0 ? static_cast<std::uint64_t>(got) : 0;
}

// The current limit; RLIM_INFINITY if there is none.
inline std::uint64_t limit_of(int resource) {
  rlimit limit{};
  const bool known =
      arch::kernel_call(SYS_getrlimit, resource, reinterpret_cast<long>(&limit)) == 0;
  return known ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace fbleprof::capture
