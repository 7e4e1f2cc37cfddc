// The file of a profile: made 0600, mapped, its descriptor closed at once. Its space is in reserve
// only as far as it was populated: the rest is a hole, cut off at the end. capture/output_name
// chooses the name.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/output_name.h"
#include "capture/text.h"
#include "format/format.h"

namespace fbleprof::capture {

struct OutputFile {
  OutputName name;
  char* base = nullptr;  // the mapping; null = no profile
  std::uint64_t cap_bytes = 0;
  std::uint64_t populated_bytes = 0;
  std::uint64_t end_bytes = 0;  // where the file was cut
  FileIdentity identity;        // what the path must still name when it is opened again
  bool anonymous = false;       // memory only; written to the path at the end
  Text<512> failure;            // why there is no profile, or why it is in memory
};

// Async-signal-safe. In a process forked from a profiled one `parent` is the parent's, else null.
OutputFile open_output(const Settings& settings, const OutputFile* parent);

// What a header says first: whose it is, before anything was recorded.
format::Header starting_header(const OutputFile& file);

// Cuts the hole off the file's end, or writes an anonymous profile out. `used_bytes`: where it
// ends.
void close_output(OutputFile& file, std::uint64_t used_bytes);

// Takes a profile away that holds nothing.
void remove_output(const OutputFile& file);

// The program goes on after all: the hole is put back. `used_bytes` are in use by now. False: the
// profile cannot grow any more.
bool reopen_output(OutputFile& file, std::uint64_t used_bytes);

}  // namespace fbleprof::capture
