#include "report/cli/directories.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "format/format.h"

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

}  // namespace

std::vector<std::string> with_directories_read(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code failure;
    std::vector<std::string> inside;
    if (fs::is_directory(name, failure)) {
      for (const auto& entry : fs::directory_iterator(name, failure)) {
        if (is_profile(entry.path())) inside.push_back(entry.path());
      }
    }
    std::sort(inside.begin(), inside.end());
    if (inside.empty()) inside.push_back(name);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

}  // namespace fbleprof::report
