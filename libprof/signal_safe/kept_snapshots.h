// The snapshots that the file keeps: one for each name, and the newest periodic ones.
//
// The file itself is the list, so the recorder and `fble-prof ctl`, which maps the same file, find
// each other's. A snapshot under a name that is in use replaces the older one, and the newest
// periodic one replaces the oldest: their number is bounded, and so is their space.
//
// Not in a signal handler: the work grows with the file. One caller at a time in each process.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/arena.h"

namespace fbleprof::signal_safe {

// Takes a snapshot under `name`, of `length` bytes. False: there is no space.
bool take_named_snapshot(Arena& arena, const char* name, std::uint32_t length,
                         std::uint64_t time_ns);

// Takes one where counting begins again; it replaces the previous one.
bool take_reset_snapshot(Arena& arena, std::uint64_t time_ns);

// Takes a periodic one; the newest `most` (at least 1) are kept.
bool take_periodic_snapshot(Arena& arena, std::uint32_t most, std::uint64_t time_ns);

}  // namespace fbleprof::signal_safe
