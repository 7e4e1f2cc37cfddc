// The main threads of the Luas that a thread runs, of any version.
#pragma once

#include "adapters/lua_api.h"

namespace fbleprof::adapters {

// In zeroed memory. The thread itself adds and removes, and a handler of it may read at any moment.
class MainThreads {
 public:
  // Beyond 8 of them, others are not read.
  void add(const lua_State* main) {
    remove(main);
    if (count_ == kMost) return;
    threads_[count_] = main;
    asm volatile("" ::: "memory");  // the handler reads them
    ++count_;
  }
  void remove(const lua_State* main) {
    for (int i = 0; i < count_; ++i) {
      if (threads_[i] != main) continue;
      threads_[i] = threads_[count_ - 1];
      asm volatile("" ::: "memory");
      --count_;
      return;
    }
  }

  int count() const { return count_; }
  const lua_State* operator[](int i) const { return threads_[i]; }

 private:
  static constexpr int kMost = 8;

  const lua_State* threads_[kMost];
  int count_;
};

}  // namespace fbleprof::adapters
