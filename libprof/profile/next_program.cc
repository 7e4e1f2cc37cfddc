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

// Calls visit(path, header) for each profile beside `path` whose file name may be one of the run's.
template <typename IsWanted, typename Visit>
void for_each_beside(const std::string& path, IsWanted is_wanted, Visit visit) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(path).parent_path();
  std::error_code failure;
  for (fs::directory_iterator at(directory.empty() ? fs::path(".") : directory, failure), end;
       !failure && at != end; at.increment(failure)) {
    const std::string name = at->path().filename().string();
    if (!is_wanted(name)) continue;
    const std::string candidate = (directory / name).string();
    format::Header header{};
    if (read_header(candidate, header)) visit(candidate, header);
  }
}

}  // namespace

std::string profile_after_exec(const std::string& path, const format::Header& header) {
  const std::string number = std::to_string(header.pid);
  std::string found;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  const auto has_number = [&](const std::string& name) {
    return name.find(number) != std::string::npos;
  };
  for_each_beside(path, has_number, [&](const std::string& file, const format::Header& other) {
    const bool is_same_process = other.pid == header.pid &&
                                 other.process_start_ticks == header.process_start_ticks &&
                                 other.pid_namespace == header.pid_namespace;
    const std::uint64_t start = other.start_monotonic_ns;
    if (!is_same_process || start <= header.start_monotonic_ns || start >= first) return;
    first = start;
    found = file;
  });
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

std::size_t count_profiles_named_after(const std::string& path) {
  std::size_t count = 0;
  format::Header header{};
  if (!read_header(path, header)) return count;
  const std::string prefix = std::filesystem::path(path).filename().string() + ".";
  const auto is_named_so = [&](const std::string& name) {
    return name.starts_with(prefix) && !name.ends_with(".old");
  };
  for_each_beside(path, is_named_so, [&](const std::string&, const format::Header& other) {
    if (other.start_realtime_ns >= header.start_realtime_ns) ++count;
  });
  return count;
}

}  // namespace fbleprof::profile
