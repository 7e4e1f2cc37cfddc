// fble-prof's own messages: lines on stderr.
#pragma once

#include <string>

namespace fbleprof::launch {

// `text` with ? for each control character: paths and names may contain any.
std::string printable(const std::string& text);

// Prints "fble-prof: LINE".
void say(const std::string& line);

}  // namespace fbleprof::launch
