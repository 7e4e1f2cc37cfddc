// Whether the records of a running program's profile can be followed.
//
// The recorder's own code takes snapshots from here (signal_safe/kept_snapshots) and trusts what it
// reads: it is made for the memory of its own process. But this file may be a stranger's, who can
// have written anything into it. So everything that this code follows is checked before: lengths of
// records and items, and references to names and values.
#pragma once

#include <cstdint>

#include "signal_safe/arena.h"

namespace fbleprof::control {

// Of the records that are in the file now. Later ones are the recorder's: what it adds meanwhile
// can make a sound profile look unsound for a moment, so look again.
bool is_sound(const signal_safe::Arena& arena);

}  // namespace fbleprof::control
