#include "capture/process_facts.h"

#include "capture/kernel_file.h"
#include "capture/text.h"
#include "signal_safe/peek.h"

namespace fbleprof::capture {

std::uint32_t own_pid() { return static_cast<std::uint32_t>(arch::kernel_call(SYS_getpid)); }

namespace {
std::uint64_t parse_hex(const char* digits) {
  std::uint64_t value = 0;
  for (; (*digits >= '0' && *digits <= '9') || (*digits >= 'a' && *digits <= 'f'); ++digits) {
    value = value * 16 + static_cast<std::uint64_t>(*digits - (*digits <= '9' ? '0' : 'a' - 10));
  }
  return value;
}

// A numeric field of a file "stat" of /proc, counted from 1, behind the second one; 0: it cannot be
// read. Async-signal-safe.
std::uint64_t field_of_stat(const char* path, int wanted) {
  char text[1024];
  if (read_text(path, text, sizeof text) == 0) return 0;
  // The program's name, in parentheses, may contain anything: count fields from the last
  // parenthesis.
  const char* at = text;
  for (const char* c = text; *c; ++c) {
    if (*c == ')') at = c + 1;
  }
  for (int field = 2; field < wanted && *at; ++at) {
    if (*at == ' ') ++field;
  }
  std::uint64_t value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  return value;
}
}  // namespace

std::uint64_t process_start_ticks(std::uint32_t pid) {
  Text<64> path;
  path.add("/proc/");
  // /proc may belong to another pid namespace, where our pid is that of another process.
  if (pid == own_pid()) {
    path.add("self");
  } else {
    path.add_number(pid);
  }
  return field_of_stat(path.add("/stat").c_str(), 22);
}

bool accepts_signal(std::uint32_t tid, int number) {
  const Text<64> folder = Text<64>{"/proc/self/task/"}.add_number(tid);
  // "status" takes half as long again to read, and has no bound.
  constexpr int kBlocked = 32;
  Text<64> path = folder;
  const std::uint64_t blocked = field_of_stat(path.add("/stat").c_str(), kBlocked);
  if ((blocked >> (number - 1) & 1) != 0) return false;
  // While a thread waits for signals, the kernel does not show them as blocked. It shows the call,
  // and where the set is.
  constexpr const char* kWait = "128 0x";
  static_assert(SYS_rt_sigtimedwait == 128);
  char text[256];
  path = folder;
  read_text(path.add("/syscall").c_str(), text, sizeof text);
  if (!begins(text, kWait)) return true;
  std::uint64_t awaited = 0;
  const auto* set = reinterpret_cast<const void*>(parse_hex(text + __builtin_strlen(kWait)));
  return signal_safe::peek_anywhere(set, &awaited, sizeof awaited) &&
         (awaited >> (number - 1) & 1) == 0;
}

std::uint64_t pid_namespace() {
  struct stat status {};
  const long result =
      kernel_path_call(SYS_stat, "/proc/self/ns/pid", reinterpret_cast<long>(&status));
  return result == 0 ? status.st_ino : 0;
}

ProcessIdentity own_identity() {
  const std::uint32_t pid = own_pid();
  return {pid, process_start_ticks(pid), pid_namespace()};
}

namespace {
// The value of a line of "NAME:\tVALUE", or null.
const char* status_line(const char* text, const char* name) {
  for (const char* line = text; *line;) {
    const char *at = line, *wanted = name;
    while (*wanted && *at == *wanted) ++at, ++wanted;
    if (!*wanted && at[0] == ':' && at[1] == '\t') return at + 2;
    while (*line && *line++ != '\n') {
    }
  }
  return nullptr;
}
}  // namespace

ProcessStatus process_status() {
  ProcessStatus status;
  const File file("/proc/self/status", O_RDONLY);
  // Before these lines comes that of the user's groups, which may be long.
  char text[4096];
  constexpr std::uint64_t kStep = sizeof text / 2;
  for (std::uint64_t offset = 0; file; offset += kStep) {
    const long got = file.read(offset, text, sizeof text - 1);
    if (got <= 0) break;
    text[got] = 0;
    const char *ignored = status_line(text, "SigIgn"), *caught = status_line(text, "SigCgt");
    if (ignored && caught) status.default_signals = ~(parse_hex(ignored) | parse_hex(caught));
    if (const char* kilobytes = status_line(text, "VmLck")) {
      while (*kilobytes == ' ') ++kilobytes;
      status.has_locked_memory = *kilobytes != '0';
    }
    if (const char* mode = status_line(text, "Seccomp"); mode && *mode) {
      status.is_confined = *mode != '0';
      break;
    }
  }
  return status;
}

}  // namespace fbleprof::capture
