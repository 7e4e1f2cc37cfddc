// An empty profile for the process's session.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "capture/thread_memory.h"
#include "signal_safe/session.h"

namespace fbleprof::proof {

inline void start_session() {
  constexpr std::size_t kFileBytes = 8 << 20;
  alignas(64) static char file[kFileBytes];
  auto* header = reinterpret_cast<format::Header*>(file);
  // What the test before has used.
  std::memset(file, 0, std::max<std::size_t>(header->used_bytes, format::kHeaderBytes));
  header->used_bytes = format::kHeaderBytes;
  header->header_bytes = format::kHeaderBytes;
  ASSERT_TRUE(signal_safe::session.start(file, kFileBytes, kFileBytes, {}));
  capture::forget_thread_memory();
}

}  // namespace fbleprof::proof
