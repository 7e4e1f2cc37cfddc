// How folded stacks write a name.
#pragma once

#include <string>

namespace fbleprof::profile {

// An escaped name that cannot be misread there: no ';', and no blank before digits at its end,
// which readers of "before and after" files take for a second value.
inline std::string folded_name(std::string name) {
  for (char& c : name) {
    if (c == ';') c = ':';
  }
  const std::size_t digits = name.find_last_not_of("0123456789.") + 1;  // where they begin
  if (digits > 0 && digits < name.size() && name[digits - 1] == ' ') name[digits - 1] = '_';
  return name;
}

}  // namespace fbleprof::profile
