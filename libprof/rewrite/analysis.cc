#include "rewrite/analysis.h"

#include <cstring>

#include "rewrite/entries.h"

namespace fbleprof::rewrite {
namespace {

std::string empty_plan() {
  plan::Header header{};
  std::memcpy(header.magic, plan::kMagic, sizeof header.magic);
  header.version = plan::kVersion;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

}  // namespace

Analysis analyse(const std::string& path, void (*progress)(double)) {
  ElfImage image;
  if (const std::string error = image.open(path); !error.empty()) return {empty_plan(), error};
  std::vector<Function> functions = read_functions(image);
  if (functions.empty()) return {empty_plan(), "its unwind table lists no functions"};
  const References references(image, functions, progress);
  return {Entries(image, functions, references).plan(), {}};
}

}  // namespace fbleprof::rewrite
