// The records that describe a profile as a whole: header, metrics, process, special functions,
// notes, and the end. With capture/fork_child the only file of this layer that writes records of
// the format other than a thread's own.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/output_file.h"
#include "format/format.h"

namespace fbleprof::capture {

// Writes the description into the new arena, and makes the functions of the special nodes.
void describe(const Settings& settings, const OutputFile& output);

// Adds a remark for the reader of the report. From any handler.
void add_note(const char* text);

// What a profile holds so far.
struct Content {
  std::uint64_t cpu_ns = 0;
  bool hooked = false;  // or it ticks, outside of all that has hooks
};
Content content_of_profile();

// How the process ended. The state is written apart, and last: it says that the rest is there.
void describe_end(std::uint32_t code, bool is_trivial);
// It did not end after all.
void describe_going_on();

}  // namespace fbleprof::capture
