#include "control/process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fbleprof::control {

namespace fs = std::filesystem;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The entries of a /proc folder whose names are numbers.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      numbers.push_back(static_cast<pid_t>(std::atol(name.c_str())));
    }
  }
  return numbers;
}

std::string proc(pid_t pid) { return "/proc/" + std::to_string(pid); }

}  // namespace

std::uint64_t start_ticks(pid_t pid) {
  const std::string stat = read_file(proc(pid) + "/stat");
  // The second field, the name in parentheses, may hold anything.
  std::size_t at = stat.rfind(')');
  constexpr int kFieldsAfterName = 20;  // the 22nd field
  for (int i = 0; i < kFieldsAfterName && at != std::string::npos; ++i) at = stat.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(stat.c_str() + at + 1, nullptr, 10);
}

std::string image_of(pid_t pid) {
  constexpr std::size_t kEndBytes = 16;  // all that there is in the middle of an exec
  std::string vector = read_file(proc(pid) + "/auxv");
  return vector.size() > kEndBytes ? vector : std::string();
}

std::vector<pid_t> threads_of(pid_t pid) { return numbers_in(proc(pid) + "/task"); }

std::string status_field(pid_t pid, const std::string& name) {
  std::ifstream in(proc(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

bool handles(pid_t pid, int signal) {
  const std::uint64_t caught = std::strtoull(status_field(pid, "SigCgt").c_str(), nullptr, 16);
  return (caught >> (signal - 1) & 1) != 0;
}

pid_t inner_pid(pid_t pid) {
  const std::string pids = status_field(pid, "NSpid");
  const std::size_t last = pids.find_last_of(" \t");
  const std::string innermost = last == std::string::npos ? pids : pids.substr(last + 1);
  return static_cast<pid_t>(std::atol(innermost.c_str()));
}

pid_t find_process(pid_t inner, std::uint64_t ticks) {
  for (const pid_t pid : numbers_in("/proc")) {
    if (inner_pid(pid) == inner && start_ticks(pid) == ticks) return pid;
  }
  return 0;
}

}  // namespace fbleprof::control
