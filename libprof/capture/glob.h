// Patterns in settings: * is any text, ? any character. A pattern ends at `end` or with its text.
#pragma once

namespace fbleprof::capture {

inline bool glob_match(const char* pattern, char end, const char* text) {
  const char* star = nullptr;
  const char* from = text;
  while (*text) {
    const bool is_over = *pattern == 0 || *pattern == end;
    if (!is_over && *pattern == '*') {
      star = ++pattern;
      from = text;
    } else if (!is_over && (*pattern == '?' || *pattern == *text)) {
      ++pattern, ++text;
    } else if (star) {
      // Let the last star match one character more.
      pattern = star;
      text = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*') ++pattern;
  return *pattern == 0 || *pattern == end;
}

// The last part of a path.
inline const char* name_in_path(const char* path) {
  const char* name = path;
  for (; *path; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

}  // namespace fbleprof::capture
