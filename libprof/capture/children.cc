#include "capture/children.h"

#include "capture/process_facts.h"
#include "capture/program_path.h"

namespace fbleprof::capture {

namespace {

// Whether the name matches the pattern, which ends at a comma: * is any text, ? any character.
bool matches(const char* pattern, const char* name) {
  const char* star = nullptr;
  const char* from = name;
  while (*name) {
    const bool is_over = *pattern == 0 || *pattern == ',';
    if (!is_over && *pattern == '*') {
      star = ++pattern;
      from = name;
    } else if (!is_over && (*pattern == '?' || *pattern == *name)) {
      ++pattern, ++name;
    } else if (star) {
      // Let the last star match one character more.
      pattern = star;
      name = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*') ++pattern;
  return *pattern == 0 || *pattern == ',';
}

const char* own_name() {
  const char* name = program_path();
  for (const char* at = name; *at; ++at) {
    if (*at == '/') name = at + 1;
  }
  return name;
}

}  // namespace

bool is_wanted(const Settings& settings) {
  const char* patterns = settings.children.c_str();
  if (!*patterns || equal(patterns, "all") || settings.program_pid == 0 ||
      settings.program_pid == own_pid()) {
    return true;
  }
  if (equal(patterns, "none")) return false;
  for (const char* at = patterns; *at;) {
    if (matches(at, own_name())) return true;
    while (*at && *at != ',') ++at;
    if (*at) ++at;
  }
  return false;
}

}  // namespace fbleprof::capture
