// Descriptors 0, 1 and 2 that the starter of a command left closed.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace fbleprof {

// Keeps 0, 1 and 2 away from files that are opened later: what is printed would be written into
// them, and a profile may be some running program's memory. Those that are closed act so for
// whoever reads or writes them here, and are closed in programs that exec starts. Called once,
// before the first file is opened.
inline void reserve_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/", O_PATH | O_CLOEXEC);
  if (fd >= 0) close(fd);
}

}  // namespace fbleprof
