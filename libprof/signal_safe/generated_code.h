// Facts about code that the program generates while it runs, for a CodeSource.
//
// All functions: any thread, hooks and handlers included; no lock, bounded. code_hash_at takes a
// system call where faults are not caught, and note_moment always: not in a program that was
// confined before it started.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

// A hash of the 64 bytes (one line of the cache) around `address`; 0: they cannot be read. Never 0
// otherwise. A JIT compiler aligns functions to 16, 32 or 64 bytes, so different functions that
// used one address in turn have different hashes, except where both are shorter and their
// neighbours are the same.
std::uint32_t code_hash_at(std::uint64_t address);

// Sets map_bytes with its flag if the program has a perf map, else first_met_ns.
void note_moment(format::Function* generated);
// Sets first_met_ns. Takes no system call.
void note_time(format::Function* generated);

// Writes the path of this process's perf map, "/tmp/perf-PID.map", in at most kMapPathBytes.
inline constexpr int kMapPathBytes = 40;
void write_map_path(char* path);

}  // namespace fbleprof::signal_safe
