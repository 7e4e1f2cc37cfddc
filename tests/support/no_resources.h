// Limits for a part of a test: the kernel refuses what the recorder must do without.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <cstdlib>

namespace fbleprof::test {

class Limited {
 public:
  Limited(decltype(RLIMIT_AS) what, rlim_t most) : what_(what) {
    getrlimit(what_, &before_);
    rlimit limit = before_;
    limit.rlim_cur = most;
    setrlimit(what_, &limit);
  }
  ~Limited() { setrlimit(what_, &before_); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  decltype(RLIMIT_AS) what_;
  rlimit before_{};
};

// No more memory: the test itself must not allocate meanwhile.
struct NoMemory : Limited {
  NoMemory() : Limited(RLIMIT_AS, 1) {}
};
// Nor any that the C library still has. It is for a process of its own.
class NoMemoryLeft : NoMemory {
 public:
  NoMemoryLeft() {
    for (std::size_t bytes = 1 << 20; bytes >= sizeof(void*); bytes /= 2) {
      while (void** block = static_cast<void**>(std::malloc(bytes))) {
        *block = taken_;
        taken_ = block;
      }
    }
  }
  ~NoMemoryLeft() {
    while (taken_) {
      void* const next = *static_cast<void**>(taken_);
      std::free(taken_);
      taken_ = next;
    }
  }

 private:
  void* taken_ = nullptr;
};
struct NoDescriptors : Limited {
  NoDescriptors() : Limited(RLIMIT_NOFILE, 0) {}
};

}  // namespace fbleprof::test
