#include "launch/library.h"

#include <unistd.h>

#include <string_view>

#include "launch_paths.h"

namespace fbleprof::launch {

std::filesystem::path folder_of_tools() {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/exe", failure).parent_path();
}

std::string find_library() {
  std::error_code failure;
  const std::filesystem::path tools = folder_of_tools();
  if (tools.empty()) return {};
  // launch_paths.h is generated: it has the path from the installed programs to the installed
  // libraries, and from this program to the library in the build tree.
  for (const char* way : {kLibraryWhenInstalled, kLibraryWhenBuilt}) {
    const std::filesystem::path library = std::filesystem::canonical(tools / way, failure);
    if (!failure && access(library.c_str(), R_OK) == 0) return library.string();
  }
  return {};
}

std::string find_beside(const std::string& library, const std::string& name) {
  const std::string wrappers = (std::filesystem::path(library).parent_path() / name).string();
  return access(wrappers.c_str(), R_OK) == 0 ? wrappers : std::string();
}

std::string with_preloaded(const std::string& library, const char* current) {
  std::string value = library;
  std::string_view rest = current != nullptr ? current : "";
  // The dynamic linker accepts colons and blanks as separators.
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(": "), rest.size());
    const std::string_view entry = rest.substr(0, end);
    if (!entry.empty() && entry != library) value.append(":").append(entry);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return value;
}

}  // namespace fbleprof::launch
