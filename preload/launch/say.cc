#include "launch/say.h"

#include <cstdio>
#include <string_view>

#include "base/safe_text.h"

namespace fbleprof::launch {

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Character c = first_character(std::string_view(text).substr(i));
    if (c.bytes == 0 || is_unsafe(c.code)) {
      out += '?';
    } else {
      out.append(text, i, c.bytes);
    }
    i += c.bytes == 0 ? 1 : c.bytes;
  }
  return out;
}

void say(const std::string& line) {
  std::fprintf(stderr, "fble-prof: %s\n", printable(line).c_str());
}

}  // namespace fbleprof::launch
