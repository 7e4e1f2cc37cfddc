#include "profile/next_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>

namespace fbleprof::profile {
namespace {

// False if it is not a profile. The rest of the header is as reliable as the file.
bool read_header(const std::string& path, format::Header& header) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  if (fd < 0) return false;
  struct stat status;
  const bool whole = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                     pread(fd, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header);
  close(fd);
  return whole && std::memcmp(header.magic, format::kMagic, sizeof header.magic) == 0;
}

}  // namespace

std::string profile_after_exec(const std::string& path, const format::Header& header) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(path).parent_path();
  const std::string number = std::to_string(header.pid);
  std::string found;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::error_code failure;
  for (fs::directory_iterator at(directory.empty() ? fs::path(".") : directory, failure), end;
       !failure && at != end; at.increment(failure)) {
    const std::string name = at->path().filename().string();
    if (name.find(number) == std::string::npos) continue;
    const std::string candidate = (directory / name).string();
    format::Header other{};
    if (!read_header(candidate, other)) continue;
    const bool is_same_process = other.pid == header.pid &&
                                 other.process_start_ticks == header.process_start_ticks &&
                                 other.pid_namespace == header.pid_namespace;
    const std::uint64_t start = other.start_monotonic_ns;
    if (!is_same_process || start <= header.start_monotonic_ns || start >= first) continue;
    first = start;
    found = candidate;
  }
  return found;
}

std::vector<std::string> with_profiles_after_exec(const std::string& path) {
  std::vector<std::string> files = {path};
  format::Header header{};
  while (read_header(files.back(), header) && header.state == format::State::kExeced) {
    // Each began later than the one before, so the loop ends.
    std::string next = profile_after_exec(files.back(), header);
    if (next.empty()) break;
    files.push_back(std::move(next));
  }
  return files;
}

}  // namespace fbleprof::profile
