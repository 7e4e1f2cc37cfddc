#include "rewrite/analysis.h"

#include <cstring>

#include "rewrite/entries.h"

namespace fbleprof::rewrite {
namespace {

std::string empty_plan(const std::string& error) {
  plan::Header header{};
  error.copy(header.error, sizeof header.error - 1);
  std::memcpy(header.magic, plan::kMagic, sizeof header.magic);
  header.version = plan::kVersion;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

}  // namespace

Analysis analyse(const std::string& path, void (*progress)(double)) {
  ElfImage image;
  if (const std::string error = image.open(path); !error.empty()) {
    return {image.is_unread() ? std::string() : empty_plan(error), error};
  }
  for (const char* hook : {"__fentry__", "mcount", "_mcount", "__cyg_profile_func_enter"}) {
    if (image.names(hook)) {
      const std::string error = "it was built with hooks, which count its calls";
      return {empty_plan(error), error};
    }
  }
  std::vector<Function> functions = read_functions(image);
  if (functions.empty()) {
    const std::string error = "it has no unwind table for its functions";
    return {empty_plan(error), error};
  }
  const References references(image, functions, progress);
  if (references.code().splits_stacks()) {
    const std::string error =
        "its functions have split stacks (-fsplit-stack), which have no room for hooks";
    return {empty_plan(error), error};
  }
  return {Entries(image, functions, references).plan(), {}};
}

}  // namespace fbleprof::rewrite
