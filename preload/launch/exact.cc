#include "launch/exact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "base/bounded_folder.h"
#include "base/fd.h"
#include "launch/say.h"
#include "plan/file_stamp.h"
#include "plan/plan.h"
#include "rewrite/analysis.h"

namespace fbleprof::launch {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr char kPlanExtension[] = ".plan";
// A hundred plans of programs as large as gcc's cc1. Each build of a program has one of its own.
constexpr std::uint64_t kMostPlanBytes = std::uint64_t{512} << 20;

// Its files change programs' code: no other user may write to it.
bool is_own_folder(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & kOthersMayWrite) == 0 &&
         access(path.c_str(), W_OK) == 0;
}

// The plan of a large program, as a browser, takes ten megabytes.
bool has_room(const std::string& path) {
  constexpr std::uint64_t kRoom = 16 << 20;
  struct statvfs status {};
  return statvfs(path.c_str(), &status) != 0 || status.f_bavail * status.f_frsize >= kRoom;
}

bool make_folder(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  mkdir(path.c_str(), 0700);
  return is_own_folder(path) && has_room(path);
}

// The file appears whole or not at all: two programs may make the same plan at once.
bool write_whole(const std::string& path, const std::string& bytes) {
  std::string scratch = path + ".XXXXXX";
  const int fd = mkstemp(scratch.data());
  if (fd < 0) return false;
  const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  const bool closed = close(fd) == 0;
  if (written && closed && rename(scratch.c_str(), path.c_str()) == 0) return true;
  unlink(scratch.c_str());
  return false;
}

std::string shown_module;

void show_progress(double share) {
  std::fprintf(stderr, "\rfble-prof: reading %s: %.0f %% ", shown_module.c_str(), 100 * share);
}

void clear_progress() { std::fputs("\r\033[K", stderr); }

bool make_plan(const std::string& path, const std::string& module) {
  // A plan that says so would stay when it can be read.
  if (faccessat(AT_FDCWD, module.c_str(), R_OK, AT_EACCESS) != 0) return false;
  const bool is_terminal = isatty(2) == 1;
  shown_module = printable(std::filesystem::path(module).filename().string());
  if (is_terminal) show_progress(0);
  rewrite::Analysis analysis;
  try {
    analysis = rewrite::analyse(module, is_terminal ? show_progress : nullptr);
  } catch (const std::bad_alloc&) {
    // The same: there may be more memory the next time.
  }
  if (is_terminal) clear_progress();
  if (analysis.plan.empty() || !write_whole(path, analysis.plan)) return false;
  drop_oldest_files(std::filesystem::path(path).parent_path(), kPlanExtension, kMostPlanBytes);
  return true;
}

// Like the recorder, which reads plans by itself in programs that fble-prof starts.
bool is_trusted(const struct stat& status) {
  return S_ISREG(status.st_mode) && (status.st_mode & kOthersMayWrite) == 0 &&
         (status.st_uid == 0 || status.st_uid == geteuid());
}

// "" if there is none, it is one of another version or damaged, or others may have written it.
std::string read_plan(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !is_trusted(status)) return {};
  std::string bytes(static_cast<std::size_t>(status.st_size), 0);
  if (!file.read_at(0, bytes.data(), bytes.size())) return {};
  return plan::is_whole(bytes.data(), bytes.size()) ? bytes : std::string();
}

}  // namespace

std::string plan_folder(const std::string& part) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (cache && *cache == '/') {
    folder = std::string(cache) + "/fbleprof";
  } else if (home && *home == '/') {
    folder = std::string(home) + "/.cache/fbleprof";
  }
  const auto is_made = [&] {
    return !folder.empty() && make_folder(folder) && (part.empty() || make_folder(folder + part));
  };
  if (is_made()) return folder + part;
  folder = "/tmp/fbleprof-" + std::to_string(geteuid());
  return is_made() ? folder + part : std::string();
}

int make_plans(int count, char** words) {
  int status = 0;
  for (int i = 0; i + 1 < count; i += 2) {
    if (!make_plan(words[i], words[i + 1])) status = 1;
  }
  return status;
}

std::string plan_of(const std::string& stem, const std::string& module) {
  struct stat status {};
  if (stat(module.c_str(), &status) != 0) return {};
  const std::string path =
      stem + plan::FileMark(status, !stem.ends_with('/')).text + kPlanExtension;
  std::string plan = read_plan(path);
  if (plan.empty() && make_plan(path, module)) plan = read_plan(path);
  return plan;
}

std::string own_path() {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/exe", failure).string();
}

}  // namespace fbleprof::launch
