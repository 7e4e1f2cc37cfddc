#include "attach/refusal.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "control/process.h"

namespace fbleprof::attach {

namespace {

// Whose process it is, by the real, effective and saved id in a line of /proc/PID/status.
enum class Owner { kWe, kAnother, kMixed };

Owner owner_by(pid_t pid, const char* field, unsigned own) {
  std::istringstream in(control::status_field(pid, field));
  unsigned real = 0, effective = 0, saved = 0;
  if (!(in >> real >> effective >> saved)) return Owner::kAnother;
  if (real != effective || real != saved) return Owner::kMixed;
  return real == own ? Owner::kWe : Owner::kAnother;
}

// What gives the right to look at the process and to trace it.
std::string remedy_of_rights(pid_t pid) {
  if (geteuid() == 0) return "a container needs the right CAP_SYS_PTRACE";
  const Owner user = owner_by(pid, "Uid", geteuid()), group = owner_by(pid, "Gid", getegid());
  if (user == Owner::kAnother) return "be its user or root";
  if (user == Owner::kWe && group == Owner::kWe) {
    return "only root may: it changed its user, has more rights than you, hides itself "
           "(PR_SET_DUMPABLE), or its program cannot be read";
  }
  return "only root may: its user or group differs from yours, or has changed";
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

bool has_running_thread(pid_t pid) {
  const std::vector<pid_t> threads = control::threads_of(pid);
  return std::any_of(threads.begin(), threads.end(), [](pid_t tid) { return !has_ended(tid); });
}

std::string name_of(pid_t pid) { return "process " + std::to_string(pid); }

}  // namespace

bool has_ended(pid_t pid) {
  const std::string state = control::status_field(pid, "State");
  return state.empty() || state[0] == 'Z' || state[0] == 'X';
}

Error error_of(pid_t pid, const std::string& what, const std::string& remedy) {
  if (!has_ended(pid)) return Error{name_of(pid), std::nullopt, what, remedy};
  const char* ended = has_running_thread(pid) ? "its main thread has ended" : "it has ended";
  return Error{name_of(pid), std::nullopt, ended, ""};
}

Error system_error_of(pid_t pid, const std::string& what, int error) {
  return error_of(pid, what + ": " + std::strerror(error));
}

Error unreadable_memory(pid_t pid) {
  return system_error_of(pid, "its memory cannot be read", errno);
}

Error unwritable_memory(pid_t pid) {
  return system_error_of(pid, "its memory cannot be written", errno);
}

Error refusal_to_trace(pid_t pid, int error) {
  const std::string tracer = control::status_field(pid, "TracerPid");
  if (!tracer.empty() && tracer != "0" && tracer != std::to_string(getpid())) {
    return error_of(pid, "process " + tracer + " traces it already", "end that one");
  }
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (scope == "3") {
    return error_of(pid, "the kernel forbids all tracing (kernel.yama.ptrace_scope is 3)",
                    "it does so until the machine is started again with another value");
  }
  if (!scope.empty() && scope != "0" && geteuid() != 0) {
    return error_of(pid, "the kernel forbids tracing",
                    "sysctl kernel.yama.ptrace_scope=0, or be root");
  }
  return error_of(pid, std::string("the kernel forbids tracing: ") + std::strerror(error),
                  remedy_of_rights(pid));
}

Error refusal_to_look(pid_t pid) {
  return error_of(pid, "the kernel does not show its memory",
                  geteuid() == 0 ? "it may be the kernel's own, or protected by the system"
                                 : remedy_of_rights(pid));
}

}  // namespace fbleprof::attach
