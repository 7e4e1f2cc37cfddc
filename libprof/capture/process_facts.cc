#include "capture/process_facts.h"

#include "capture/kernel_file.h"
#include "capture/text.h"

namespace fbleprof::capture {

std::uint32_t own_pid() { return static_cast<std::uint32_t>(arch::kernel_call(SYS_getpid)); }

std::uint64_t process_start_ticks(std::uint32_t pid) {
  Text<64> path;
  path.add("/proc/");
  // /proc may belong to another pid namespace, where our pid is that of another process.
  if (pid == own_pid()) {
    path.add("self");
  } else {
    path.add_number(pid);
  }
  path.add("/stat");
  char text[1024];
  if (read_text(path.c_str(), text, sizeof text) == 0) return 0;
  // The program's name, in parentheses, may contain anything: count fields from the last
  // parenthesis.
  const char* at = text;
  for (const char* c = text; *c; ++c) {
    if (*c == ')') at = c + 1;
  }
  for (int field = 2; field < 22 && *at; ++at) {
    if (*at == ' ') ++field;
  }
  std::uint64_t ticks = 0;
  for (; *at >= '0' && *at <= '9'; ++at) ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
  return ticks;
}

std::uint64_t pid_namespace() {
  struct stat status {};
  const long result =
      kernel_path_call(SYS_stat, "/proc/self/ns/pid", reinterpret_cast<long>(&status));
  return result == 0 ? status.st_ino : 0;
}

}  // namespace fbleprof::capture
