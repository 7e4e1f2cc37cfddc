#include "capture/program_path.h"

#include <sys/auxv.h>

#include "capture/kernel_file.h"
#include "capture/text.h"

namespace fbleprof::capture {

namespace {

long read_link(const char* link, char* path, std::size_t size) {
  return kernel_path_call(SYS_readlink, link, reinterpret_cast<long>(path),
                          static_cast<long>(size));
}

// Resolves links and relative names, through an open file.
std::size_t read_program_path(char* path, std::size_t size) {
  // The kernel executed the loader itself (ld.so PROGRAM), which has no loader of its own.
  const auto* given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (getauxval(AT_BASE) == 0 && given) {
    const File program(given, O_PATH);
    if (program) {
      Text<32> link{"/proc/self/fd/"};
      link.add_number(static_cast<std::uint64_t>(program.fd()));
      const long length = read_link(link.c_str(), path, size);
      if (length > 0) return static_cast<std::size_t>(length);
    }
  }
  const long length = read_link("/proc/self/exe", path, size);
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

}  // namespace

const char* program_path() {
  // Only once: a relative name may mean another file later.
  static constinit char path[4096];
  if (path[0] == 0) path[read_program_path(path, sizeof path - 1)] = 0;
  return path;
}

}  // namespace fbleprof::capture
