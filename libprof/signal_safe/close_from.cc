#include "signal_safe/close_from.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "arch/kernel.h"

namespace fbleprof::signal_safe {
namespace {

using arch::kernel_call;
using arch::kernel_failed;

// -1: the name is no number.
long number_in(const char* name) {
  long number = 0;
  for (; *name != 0; ++name) {
    if (*name < '0' || *name > '9') return -1;
    number = number * 10 + (*name - '0');
  }
  return number;
}

// Before Linux 5.9. Entries of this directory stay in their places while others vanish. False: it
// cannot be read.
bool close_listed(unsigned first) {
  const long directory = kernel_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/fd"),
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (kernel_failed(directory)) return false;
  alignas(dirent64) char buffer[1024];
  long bytes;
  while ((bytes = kernel_call(SYS_getdents64, directory, reinterpret_cast<long>(buffer),
                              sizeof buffer)) > 0) {
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      const long fd = number_in(entry->d_name);
      if (fd >= static_cast<long>(first) && fd != directory) kernel_call(SYS_close, fd);
      at += entry->d_reclen;
    }
  }
  kernel_call(SYS_close, directory);
  return bytes == 0;
}

// Without /proc: each number that may be one.
void close_each(unsigned first) {
  constexpr rlim_t kMost = 1 << 20;  // the kernel's own limit, unless somebody raised it
  rlimit limit{0, kMost};
  kernel_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&limit));
  const auto end = static_cast<long>(std::min(limit.rlim_max, kMost));
  for (long fd = first; fd < end; ++fd) kernel_call(SYS_close, fd);
}

}  // namespace

void close_from(unsigned first) {
  if (!kernel_failed(kernel_call(SYS_close_range, first, ~0u))) return;
  if (!close_listed(first)) close_each(first);
}

}  // namespace fbleprof::signal_safe
