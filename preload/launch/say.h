// fble-prof's own messages: lines on stderr.
#pragma once

#include <string>

namespace fbleprof::launch {

// `text` with ? for what a terminal must not get (base/safe_text.h): paths and names may contain
// anything.
std::string printable(const std::string& text);

// Prints "fble-prof: LINE".
void say(const std::string& line);

}  // namespace fbleprof::launch
