#include "launch/say.h"

#include <cstdio>

namespace fbleprof::launch {

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    // U+0080 to U+009F are controls too.
    const bool is_c1 = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    out += is_c1 || byte < 0x20 || byte == 0x7f ? '?' : text[i];
    if (is_c1) ++i;
  }
  return out;
}

void say(const std::string& line) {
  std::fprintf(stderr, "fble-prof: %s\n", printable(line).c_str());
}

}  // namespace fbleprof::launch
