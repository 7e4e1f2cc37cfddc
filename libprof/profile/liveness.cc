#include "profile/liveness.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <fstream>
#include <sstream>
#include <string>

namespace fbleprof::profile {
namespace {

// Field 22 of /proc/PID/stat, or 0 when the process is gone (a zombie counts as gone).
std::uint64_t start_ticks(std::uint32_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return 0;
  // The command name is in parentheses and may hold any character: count from the last one.
  const std::size_t paren = line.rfind(')');
  if (paren == std::string::npos) return 0;
  std::istringstream fields(line.substr(paren + 1));
  std::string field;
  for (int number = 3; fields >> field; ++number) {
    if (number == 3 && (field == "Z" || field == "X")) return 0;
    if (number == 22) return std::strtoull(field.c_str(), nullptr, 10);
  }
  return 0;
}

bool same_machine(const format::Header& header, std::string_view host) {
  utsname name;
  if (!host.empty() && uname(&name) == 0 && host != name.nodename) return false;
  struct stat status;
  return header.pid_namespace == 0 || stat("/proc/self/ns/pid", &status) != 0 ||
         status.st_ino == header.pid_namespace;
}

}  // namespace

ProcessState process_state(const format::Header& header, std::string_view host, bool ask_system) {
  switch (header.state) {
    case format::State::kEnded:
      return ProcessState::kEnded;
    case format::State::kExeced:
      return ProcessState::kExeced;
    case format::State::kFatal:
      return ProcessState::kFatal;
    case format::State::kStarting:
    case format::State::kLive:
      break;
    default:
      return ProcessState::kUnknown;
  }
  if (!ask_system || header.process_start_ticks == 0 || !same_machine(header, host)) {
    return ProcessState::kUnknown;
  }
  return start_ticks(header.pid) == header.process_start_ticks ? ProcessState::kLive
                                                               : ProcessState::kKilled;
}

}  // namespace fbleprof::profile
