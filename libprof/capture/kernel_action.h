// An action for a signal, as the kernel's calls take it.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

}  // namespace fbleprof::capture
