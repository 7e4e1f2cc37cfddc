// The parts of the page of --export html, built into the program.
#pragma once

#include <string_view>

namespace fbleprof::report {

struct PagePart {
  std::string_view text;
  std::string_view sha256;  // hexadecimal: tells the browser that this part is ours
};

extern const PagePart kPageScript, kPageStyle, kPageBody;

}  // namespace fbleprof::report
