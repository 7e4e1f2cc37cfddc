// Which file the profile goes to, and getting it without doing harm.
//
//  - The template's %p %e %h %t %r %% are expanded.
//  - A profile that a live process writes is not touched: the new one gets .PID after its name.
//    So do children, up to kMostChildren of them; more are counted only, in the first one's header.
//    A profile of the last run becomes .old. One of this run does not, though its process has
//    ended: what a shell starts in the background may outlive it.
//  - Anything at the path that is not a plain file of ours alone, or not a profile, is refused.
//  - The file is made 0600, mapped, and its descriptor closed at once.
//  - Its space is in reserve only as far as it was populated: the rest is a hole, cut off at the
//  end.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/text.h"
#include "format/format.h"

namespace fbleprof::capture {

// Programs may start any number of processes; files are bounded.
inline constexpr std::uint64_t kMostChildren = 1000;

struct OutputFile {
  Path path;             // absolute; empty = there is none
  Path base_path;        // what children's files are named after: the first one's
  char* base = nullptr;  // the mapping; null = no profile
  std::uint64_t cap_bytes = 0;
  std::uint64_t populated_bytes = 0;
  std::uint64_t end_bytes = 0;  // where the file was cut
  std::uint64_t device = 0, inode = 0;  // what the path must still name at the end
  bool is_secondary = false;     // named after another profile: a child's, or its name was taken
  bool loss_is_counted = false;  // there is none for there are too many: the first one says so
  bool anonymous = false;        // memory only; written to `path` at the end
  Text<512> failure;             // why there is no profile, or why it is in memory
};

// Async-signal-safe. In a process forked from a profiled one `base_path` is the parent's, else
// null.
OutputFile open_output(const Settings& settings, const Path* base_path);

// What a header says first: whose it is, before anything was recorded.
format::Header starting_header(const OutputFile& file);

// Cuts the hole off the file's end, or writes an anonymous profile out. `used_bytes`: where it
// ends.
void close_output(OutputFile& file, std::uint64_t used_bytes);

// Takes a profile away that holds nothing.
void remove_output(const OutputFile& file);

// The program goes on after all: the hole is put back. `used_bytes` are in use by now. False: the profile
// cannot grow any more.
bool reopen_output(OutputFile& file, std::uint64_t used_bytes);

// What /proc says of a process: its start in clock ticks since boot; 0 if there is none.
std::uint64_t process_start_ticks(std::uint32_t pid);
// Inode of this process's pid namespace; 0 = unknown.
std::uint64_t pid_namespace();

}  // namespace fbleprof::capture
