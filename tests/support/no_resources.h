// Limits for a part of a test: the kernel refuses what the recorder must do without.
#pragma once

#include <sys/resource.h>

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
struct NoDescriptors : Limited {
  NoDescriptors() : Limited(RLIMIT_NOFILE, 0) {}
};

}  // namespace fbleprof::test
