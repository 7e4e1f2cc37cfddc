// C++'s operators in a program that has none.
#pragma once

namespace fbleprof::preload {

inline constexpr int kMostWithdrawn = 32;

// Hides our operators new and delete of these names, which no library behind this one defines. In a
// C program that loads C++ plugins, the C++ library is in the plugins' scopes only, and the loader
// looks there last: it would find our operators, which have none behind them that is right for all
// plugins. It now finds each plugin's own, whose malloc is ours.
//
// Once, before the program can load a plugin.
void withdraw(const char* const* names, int count);

}  // namespace fbleprof::preload
