#include "capture/program_path.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "capture/text.h"

namespace fbleprof::capture {

namespace {

// Links and relative names resolved: an open file tells.
std::size_t read_program_path(char* path, std::size_t size) {
  // The kernel was given the loader to execute (ld.so PROGRAM): it is loaded by none.
  const auto* given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (getauxval(AT_BASE) == 0 && given) {
    const int fd = open(given, O_PATH | O_CLOEXEC);
    if (fd >= 0) {
      Text<32> link{"/proc/self/fd/"};
      link.add_number(static_cast<std::uint64_t>(fd));
      const ssize_t length = readlink(link.c_str(), path, size);
      close(fd);
      if (length > 0) return static_cast<std::size_t>(length);
    }
  }
  const ssize_t length = readlink("/proc/self/exe", path, size);
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

}  // namespace

const char* program_path() {
  // Once: a relative name may mean another file later.
  static constinit char path[4096];
  if (path[0] == 0) path[read_program_path(path, sizeof path - 1)] = 0;
  return path;
}

}  // namespace fbleprof::capture
