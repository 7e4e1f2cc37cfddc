// The file of a profile: created with mode 0600, mapped, its descriptor closed at once. Only the
// populated part has space on the disk; the rest is a hole, which is cut off at the end.
// capture/output_name chooses the name.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/output_name.h"
#include "capture/process_facts.h"
#include "capture/text.h"
#include "format/format.h"

namespace fbleprof::capture {

struct OutputFile {
  OutputName name;
  char* base = nullptr;  // the mapping; null = no profile
  std::uint64_t cap_bytes = 0;
  std::uint64_t populated_bytes = 0;
  std::uint64_t end_bytes = 0;     // where the file was cut
  FileIdentity identity;           // checked when the path is opened again
  ProcessIdentity owner;           // the process that made it
  bool anonymous = false;          // memory only; gets its name when it is written out, at the end
  bool is_child = false;           // of a profiled process that forked
  std::uint64_t run_start_ns = 0;  // as in the settings
  bool is_loss_said = false;       // it could not be written
  Text<512> failure;               // why there is no profile, or why it is in memory
};

// Async-signal-safe. In a forked child of a profiled process, `parent` is the parent's file, else
// null.
OutputFile open_output(const Settings& settings, const OutputFile* parent);

// The first version of a header: it identifies the owner of the file before anything is recorded.
format::Header starting_header(const OutputFile& file);

// Cuts the hole off the file's end, or writes an anonymous profile out. `used_bytes` is the end of
// the profile. False: the anonymous profile could not be written, and no file is left of it;
// file.name.failure may say why.
bool close_output(OutputFile& file, std::uint64_t used_bytes);

// Removes the file of a profile that is not to stay; nothing if that has none.
void remove_output(const OutputFile& file);
// The same, and unmaps the file: nothing may use its memory.
void discard_output(OutputFile& file);

// The program continues after all: restores the hole, or removes what was written of an anonymous
// profile. `used_bytes` is the current end of the profile. False: the profile can no longer grow.
bool reopen_output(OutputFile& file, std::uint64_t used_bytes);

}  // namespace fbleprof::capture
