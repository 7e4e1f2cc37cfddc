#include "report/cli/directories.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "format/format.h"
#include "profile/next_program.h"
#include "profile/plain_run.h"

namespace fbleprof::report {

namespace fs = std::filesystem;

namespace {

bool is_profile(const fs::path& file) {
  std::error_code failure;
  if (!fs::is_regular_file(file, failure) || file.extension() == ".old") return false;
  std::ifstream in(file, std::ios::binary);
  char magic[sizeof format::kMagic] = "";
  in.read(magic, sizeof magic);
  return std::memcmp(magic, format::kMagic, sizeof magic) == 0;
}

// Whether the profile is one of the child processes of a sampled run (--runs 2), beside the profile
// that has taken that run in: it says again what those of the counted run say.
bool is_of_sampled_run(const std::string& file) {
  const std::size_t mark = file.rfind(".sampled.");
  return mark != std::string::npos && mark > file.rfind('/') &&
         profile::has_plain_run(file.substr(0, mark));
}

}  // namespace

std::vector<std::string> with_directories_read(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code failure;
    std::vector<std::string> inside;
    if (fs::is_directory(name, failure)) {
      for (const auto& entry : fs::directory_iterator(name, failure)) {
        const fs::path& file = entry.path();
        if (is_profile(file) && !is_of_sampled_run(file)) inside.push_back(file);
      }
    }
    std::sort(inside.begin(), inside.end());
    if (inside.empty()) inside.push_back(name);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::vector<std::string> with_children(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& file) {
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  for (const std::string& name : names) {
    for (const std::string& file : profile::with_profiles_after_exec(name)) add(file);
    for (const std::string& file : profile::profiles_named_after(name)) {
      if (!is_of_sampled_run(file)) add(file);
    }
  }
  return files;
}

}  // namespace fbleprof::report
