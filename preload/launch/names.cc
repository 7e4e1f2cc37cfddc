#include "launch/names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "control/running_profile.h"
#include "format/format.h"
#include "launch/program_run.h"
#include "launch/report_tool.h"
#include "launch/say.h"

namespace fbleprof::launch {
namespace {

namespace fs = std::filesystem;

bool is_of_run(const fs::path& file, std::uint64_t since_ns, OfRun which) {
  std::ifstream in(file, std::ios::binary);
  format::Header header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  if (in.gcount() != sizeof header ||
      std::memcmp(header.magic, format::kMagic, sizeof header.magic) != 0 ||
      header.start_realtime_ns < since_ns) {
    return false;
  }
  if (which == OfRun::kLive) return header.state == format::State::kLive;
  // A process that was killed could not write that it has ended.
  const bool seems_live =
      header.state == format::State::kLive || header.state == format::State::kStarting;
  return !seems_live || control::has_ended(header);
}

}  // namespace

std::vector<std::string> profiles_of_run(const std::string& out, std::uint64_t since_ns,
                                         OfRun which) {
  const fs::path path(out);
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  // The recorder expands %p and the like: the text before the first one is the same in all names.
  const std::string name = path.filename().string();
  const std::string prefix = name.substr(0, name.find('%'));
  std::vector<std::string> files;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failure)) {
    const std::string found = entry.path().filename().string();
    if (!found.starts_with(prefix) || found.ends_with(".old")) continue;
    std::error_code ignored;
    if (!entry.is_regular_file(ignored) || entry.is_symlink(ignored)) continue;
    if (is_of_run(entry.path(), since_ns, which)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void put_names_into(const std::vector<std::string>& files) {
  // The kernel limits the length of a command line.
  constexpr std::size_t kAtOnce = 200;
  if (const std::string report = report_path(); access(report.c_str(), X_OK) != 0) {
    say("--names: " + report + ": " + std::strerror(errno));
    return;
  }
  // Stdout belongs to the program.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const std::span<const std::string> all(files);
  for (std::size_t i = 0; i < all.size(); i += kAtOnce) {
    const auto some = all.subspan(i, std::min(kAtOnce, all.size() - i));
    std::vector<std::string> arguments = {"--pack", "--tolerant"};
    arguments.insert(arguments.end(), some.begin(), some.end());
    const pid_t report = start_report(arguments, STDOUT_FILENO, nowhere);
    if (report > 0) wait_for(report);
  }
  if (nowhere >= 0) close(nowhere);
}

}  // namespace fbleprof::launch
