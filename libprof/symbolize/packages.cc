#include "symbolize/packages.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace fbleprof::symbolize {

std::vector<std::string> packages_of(const std::vector<std::string>& paths,
                                     const std::string& lists) {
  std::vector<std::string> packages(paths.size());
  std::map<std::string, std::size_t, std::less<>> wanted;
  constexpr std::string_view kUsr = "/usr";
  for (std::size_t i = 0; i < paths.size(); ++i) {
    // A library is loaded by the path of a link; the package has the file behind it.
    std::error_code failure;
    const std::string real = std::filesystem::canonical(paths[i], failure).string();
    for (const std::string& path : {paths[i], real}) {
      if (path.empty()) continue;
      wanted.emplace(path, i);
      wanted.emplace(path.starts_with(kUsr) ? path.substr(kUsr.size()) : std::string(kUsr) + path,
                     i);
    }
  }
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(lists, failure)) {
    if (entry.path().extension() != ".list") continue;
    std::string package = entry.path().stem().string();
    package = package.substr(0, package.find(':'));  // libc6:amd64
    std::ifstream list(entry.path());
    for (std::string line; std::getline(list, line);) {
      const auto found = wanted.find(line);
      if (found != wanted.end()) packages[found->second] = package;
    }
  }
  return packages;
}

std::string debug_package_of(const std::string& package) {
  return package == "libc6" ? "libc6-dbg" : package + "-dbgsym";
}

}  // namespace fbleprof::symbolize
