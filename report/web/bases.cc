#include "report/web/bases.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <compare>
#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

#include "profile/file_image.h"

namespace fbleprof::web {

namespace fs = std::filesystem;

namespace {

std::string time_of(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  std::tm local;
  char text[32];
  const bool is_time = localtime_r(&status.st_mtime, &local) != nullptr &&
                       std::strftime(text, sizeof text, "%F %T", &local) != 0;
  return is_time ? text : "";
}

Base base_of(const std::string& file) {
  const std::string time = time_of(file);
  return {file, {file}, time.empty() ? file : fmt::format("{} ({})", file, time), file_state(file)};
}

}  // namespace

std::string file_identity(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{}.{}", status.st_dev, status.st_ino);
}

std::string file_state(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{}.{}.{}.{}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

Bases::Bases(std::vector<std::string> served, std::vector<std::string> named)
    : served_(std::move(served)), named_(std::move(named)) {}

std::vector<Base> Bases::list() {
  const std::lock_guard lock(mutex_);
  std::vector<Base> bases;
  std::set<std::string> known;  // by state: a file may have several paths
  for (const std::string& file : served_) known.insert(file_state(file));
  for (const std::string& file : named_) {
    bases.push_back(base_of(file));
    known.insert(bases.back().state);
  }
  for (const std::string& file : served_) {
    for (const std::string& path : profiles_beside(file)) {
      Base base = base_of(path);
      if (known.insert(base.state).second) bases.push_back(std::move(base));
    }
  }
  return bases;
}

// The run before comes first, then the newest.
std::vector<std::string> Bases::profiles_beside(const std::string& file) {
  const fs::path parent = fs::path(file).parent_path();
  struct Found {
    bool is_other_run;
    fs::file_time_type::duration age;  // since some moment that is the same for all
    std::string path;
    auto operator<=>(const Found&) const = default;
  };
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator at(parent.empty() ? "." : parent, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = (parent / at->path().filename()).string();
    std::error_code not_a_file;
    if (!at->is_regular_file(not_a_file) || !is_profile(path)) continue;
    const auto written = fs::last_write_time(path, not_a_file).time_since_epoch();
    found.push_back({path != file + ".old", -written, path});
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (Found& one : found) paths.push_back(std::move(one.path));
  return paths;
}

bool Bases::is_profile(const std::string& path) {
  std::string state = file_state(path);
  const auto known = others_.find(path);
  if (known != others_.end() && known->second == state) return false;
  if (profile::FileImage::load(path)) {
    others_.erase(path);
    return true;
  }
  others_[path] = std::move(state);
  return false;
}

}  // namespace fbleprof::web
