// fble-prof's own messages: lines on stderr, and what it was asked to print.
#pragma once

#include <string>

namespace fbleprof::launch {

// `text` with ? for what a terminal must not get (base/safe_text.h): paths and names may contain
// anything.
std::string printable(const std::string& text);

// Prints "fble-prof: LINE".
void say(const std::string& line);

// Says the line, and returns the status.
int give_up(int status, const std::string& line);

// Prints a text on stdout: what an option such as --help asks for. Returns the exit status: 0, or 2
// if it could not be written, which stderr then says.
int print(const std::string& text);

}  // namespace fbleprof::launch
