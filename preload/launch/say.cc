#include "launch/say.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
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

int give_up(int status, const std::string& line) {
  say(line);
  return status;
}

int print(const std::string& text) {
  constexpr int kNotWritten = 2;
  // Only the flush finds a full disk.
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  say(std::string("stdout: ") + std::strerror(errno));
  return kNotWritten;
}

}  // namespace fbleprof::launch
