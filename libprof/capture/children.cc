#include "capture/children.h"

#include "capture/glob.h"
#include "capture/process_facts.h"
#include "capture/program_path.h"

namespace fbleprof::capture {

namespace {

const char* own_name() { return name_in_path(program_path()); }

}  // namespace

bool is_wanted(const Settings& settings) {
  const char* patterns = settings.children.c_str();
  if (!*patterns || equal(patterns, "all") || settings.program_pid == 0 ||
      settings.program_pid == own_pid()) {
    return true;
  }
  if (equal(patterns, "none")) return false;
  for (const char* at = patterns; *at;) {
    if (glob_match(at, ',', own_name())) return true;
    while (*at && *at != ',') ++at;
    if (*at) ++at;
  }
  return false;
}

}  // namespace fbleprof::capture
