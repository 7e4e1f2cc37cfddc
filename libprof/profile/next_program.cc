#include "profile/next_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

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

std::vector<std::string> profiles_named_after(const std::string& path) {
  std::vector<std::string> found;
  format::Header header{};
  if (!read_header(path, header)) return found;
  const std::string prefix = std::filesystem::path(path).filename().string() + ".";
  const auto is_named_so = [&](const std::string& name) {
    return name.starts_with(prefix) && !name.ends_with(".old");
  };
  for_each_beside(path, is_named_so, [&](const std::string& file, const format::Header& other) {
    if (other.start_realtime_ns >= header.start_realtime_ns) found.push_back(file);
  });
  std::sort(found.begin(), found.end());
  return found;
}

namespace {

struct Member {
  std::string file;
  std::uint64_t start_ns = 0, end_ns = 0;  // since 1970
  std::uint32_t pid = 0, parent_pid = 0;
  std::uint64_t process_start_ticks = 0, pid_namespace = 0;
};

// By start.
std::vector<Member> members_of(const std::vector<std::string>& files) {
  std::vector<Member> members;
  for (const std::string& file : files) {
    format::Header header{};
    if (!read_header(file, header)) continue;
    const std::uint64_t start = header.start_realtime_ns;
    const std::uint64_t lasted = header.end_monotonic_ns > header.start_monotonic_ns
                                     ? header.end_monotonic_ns - header.start_monotonic_ns
                                     : 0;
    members.push_back({file, start, start + lasted, header.pid, header.parent_pid,
                       header.process_start_ticks, header.pid_namespace});
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const Member& a, const Member& b) { return a.start_ns < b.start_ns; });
  return members;
}

// Sets that are united step by step.
class Sets {
 public:
  explicit Sets(std::size_t count) : of_(count), count_(count) {
    std::iota(of_.begin(), of_.end(), std::size_t{0});
  }
  void unite(std::size_t a, std::size_t b) {
    a = first_of(a);
    b = first_of(b);
    if (a == b) return;
    of_[std::max(a, b)] = std::min(a, b);
    --count_;
  }
  std::size_t count() const { return count_; }

 private:
  std::size_t first_of(std::size_t at) {
    while (of_[at] != at) at = of_[at] = of_[of_[at]];
    return at;
  }

  std::vector<std::size_t> of_;
  std::size_t count_;
};

}  // namespace

std::size_t count_runs(const std::vector<std::string>& files) {
  const std::vector<Member> members = members_of(files);
  Sets runs(members.size());
  // Of those that began before: the newest of each process, and each by its name.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> by_process;
  std::map<std::string_view, std::size_t> by_name;
  std::size_t last_to_end = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Member& member = members[m];
    if (member.start_ns < members[last_to_end].end_ns) runs.unite(last_to_end, m);
    if (member.end_ns >= members[last_to_end].end_ns) last_to_end = m;
    const auto same = by_process.find({member.pid_namespace, member.pid});
    if (same != by_process.end() &&
        members[same->second].process_start_ticks == member.process_start_ticks) {
      runs.unite(same->second, m);
    }
    const auto parent = by_process.find({member.pid_namespace, member.parent_pid});
    if (parent != by_process.end()) runs.unite(parent->second, m);
    const std::string_view name = member.file;
    for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos && dot != 0;
         dot = name.rfind('.', dot - 1)) {
      const auto before = by_name.find(name.substr(0, dot));
      if (before != by_name.end()) runs.unite(before->second, m);
    }
    by_process[{member.pid_namespace, member.pid}] = m;
    by_name[name] = m;
  }
  return runs.count();
}

}  // namespace fbleprof::profile
